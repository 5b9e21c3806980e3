package outbox_test

import (
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

func migrator(t *testing.T, url string) *outbox.Migrator {
	t.Helper()
	m, err := outbox.NewMigrator(url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// applied returns how many migrations there are and how many of them are applied.
func applied(t *testing.T, m *outbox.Migrator) (all, done int) {
	t.Helper()
	list, err := m.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, step := range list {
		if i > 0 && step.Version <= list[i-1].Version || step.Name == "" || step.Applied == step.AppliedAt.IsZero() {
			t.Errorf("migration %d: %+v", i+1, step)
		}
		if step.Applied {
			done++
		}
	}
	return len(list), done
}

func TestMigrationsGoUpAndDownAgain(t *testing.T) {
	t.Parallel()
	m := migrator(t, pgtest.Schema(t))
	all, done := applied(t, m)
	if all == 0 || done != 0 {
		t.Fatalf("an empty schema has %d of %d", done, all)
	}
	for range 2 { // down leaves nothing behind that up trips over
		up, err := m.Up(t.Context())
		if err != nil || len(up) != all || !up[0].Applied {
			t.Fatalf("up: %+v, %v", up, err)
		}
		if again, err := m.Up(t.Context()); err != nil || len(again) != 0 {
			t.Errorf("up again: %+v, %v", again, err)
		}
		if _, done := applied(t, m); done != all {
			t.Errorf("after up: %d of %d", done, all)
		}
		for n := all; n > 0; n-- {
			down, err := m.Down(t.Context(), false)
			if err != nil || len(down) != 1 || down[0].Version != up[n-1].Version || down[0].Applied {
				t.Fatalf("down: %+v, %v", down, err)
			}
		}
		if _, done := applied(t, m); done != 0 {
			t.Errorf("after down: %d", done)
		}
	}
	if down, err := m.Down(t.Context(), false); err != nil || len(down) != 0 {
		t.Errorf("down on an empty schema: %+v, %v; there is nothing to take back, and that is no failure", down, err)
	}
}

func TestDownKeepsRecordsUnlessTheyAreGivenUpByName(t *testing.T) {
	t.Parallel()
	b := start(t)
	row := b.insert(t, propose("order-4711", keyed()))
	m := migrator(t, b.url)
	if down, err := m.Down(t.Context(), false); intent.CodeOf(err) != intent.CodeRecordsExist || len(down) != 0 {
		t.Errorf("down: %+v, %v", down, err)
	}
	b.load(t, row.ID)
	if down, err := m.Down(t.Context(), true); err != nil || len(down) != 1 {
		t.Errorf("down: %+v, %v", down, err)
	}
}

func TestEightProcessesMayMigrateAtOnce(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	var mu sync.Mutex
	total := 0
	var group sync.WaitGroup
	for range 8 {
		m := migrator(t, url)
		group.Go(func() {
			up, err := m.Up(t.Context())
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			total += len(up)
		})
	}
	group.Wait()
	if all, done := applied(t, migrator(t, url)); total != all || done != all {
		t.Errorf("%d migrations were applied %d times, %d are recorded", all, total, done)
	}
}

func TestInstallationsInOneDatabaseDoNotKnowEachOther(t *testing.T) {
	t.Parallel()
	a, b := start(t), start(t)
	a.insert(t, propose("order-4711", keyed()))
	if n := query[int](t, b, `SELECT count(*) FROM intents`); n != 0 {
		t.Errorf("the other schema has %d intents", n)
	}
	if down, err := migrator(t, b.url).Down(t.Context(), false); err != nil || len(down) != 1 {
		t.Errorf("down of the other: %+v, %v", down, err)
	}
	if n := query[int](t, a, `SELECT count(*) FROM intents`); n != 1 {
		t.Errorf("%d intents are left", n)
	}
}

func TestABadDatabaseURLIsSaidBeforeAnythingIsTried(t *testing.T) {
	t.Parallel()
	if _, err := outbox.NewMigrator("postgres://%zz"); err == nil {
		t.Error("it was accepted")
	}
	if err := outbox.Migrate(t.Context(), "postgres://writ@127.0.0.1:1/writ?connect_timeout=2"); err == nil {
		t.Error("a server that does not exist was migrated")
	}
}

func TestAMigrationThatDoesNotGetItsLockGivesWayAndIsTriedAgain(t *testing.T) {
	t.Parallel()
	b := start(t)
	m, err := outbox.NewMigrator(b.url)
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	list, err := m.Status(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for range list[1:] { // back to the first release
		if _, err := m.Down(t.Context(), false); err != nil {
			t.Fatal(err)
		}
	}
	reader, err := b.pool.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = reader.Rollback(t.Context()) }()
	if _, err := reader.Exec(t.Context(), `SELECT FROM intents`); err != nil {
		t.Fatal(err)
	}
	migrated := make(chan error, 1)
	go func() { _, err := m.Up(t.Context()); migrated <- err }()
	const gaveWay = `SELECT count(*) FROM pg_locks WHERE relation = 'intents'::regclass AND NOT granted`
	for waiting, deadline := 0, time.Now().Add(time.Minute); waiting == 0; { // it stands in line
		if waiting = query[int](t, b, gaveWay); time.Now().After(deadline) {
			t.Fatal("nobody waits for the table")
		}
	}
	var one int // whoever comes behind it is served before the reader in front has ended
	if err := b.pool.QueryRow(t.Context(), `SELECT 1 FROM (SELECT count(*) FROM intents) x`).Scan(&one); err != nil {
		t.Error(err)
	}
	if err := reader.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
}
