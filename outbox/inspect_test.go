package outbox_test

import (
	"context"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

// inspector looks at the database at the address.
func inspector(t *testing.T, address string) *outbox.Inspector {
	t.Helper()
	i, err := tryInspector(t, address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := i.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return i
}

func tryInspector(t *testing.T, address string) (*outbox.Inspector, error) {
	t.Helper()
	cfg, err := outbox.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return outbox.New(pool).Inspector(t.Context())
}

// with adds a setting to a URL.
func with(t *testing.T, address, name, value string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	query := u.Query()
	query.Set(name, value)
	u.RawQuery = query.Encode()
	return u.String()
}

func TestTheServerIsSeenAsWritsConnectionsFindIt(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	usual, err := inspector(t, with(t, address, "pool_max_conns", "7")).Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if usual.Version < 140000 || usual.VersionText == "" || usual.Encoding != "UTF8" || usual.Role == "" || usual.Database == "" || usual.Address == "" {
		t.Errorf("the server is %+v", usual)
	}
	if !usual.Fsync || !usual.FullPageWrites || usual.SynchronousCommit != "on" || usual.Isolation != "read committed" || usual.ReadOnly || usual.Recovering {
		t.Errorf("its settings are %+v", usual)
	}
	if usual.Standbys != 0 || usual.SynchronousNames != "" {
		t.Errorf("it has no standby: %+v", usual)
	}
	if usual.PoolSize != 7 || usual.Connections < 1 || usual.Admitted < 10 || usual.Room != usual.Admitted-usual.Connections {
		t.Errorf("its connections are %+v", usual)
	}

	address = with(t, address, "synchronous_commit", "off")
	address = with(t, address, "default_transaction_isolation", "serializable")
	address = with(t, address, "default_transaction_read_only", "on")
	changed, err := inspector(t, address).Server(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if changed.SynchronousCommit != "off" || changed.Isolation != "serializable" || !changed.ReadOnly {
		t.Errorf("the settings of the connection are %+v", changed)
	}
}

func TestOfSeveralServersTheOneThatAnsweredIsNamed(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	answers := u.Host
	u.Host = "127.0.0.1:1," + answers
	server, err := inspector(t, u.String()).Server(t.Context())
	if err != nil || server.Address != answers {
		t.Errorf("the server is %q, %v; want %q", server.Address, err, answers)
	}
}

func TestTheTightestLimitSaysHowMuchRoomIsLeft(t *testing.T) {
	t.Parallel()
	b := bundleOf(t, pgtest.Schema(t))
	role, address := b.newRole(t, "CONNECTION LIMIT 3")
	defer b.exec(t, `DROP ROLE `+role)
	server, err := inspector(t, address).Server(t.Context())
	if err != nil || server.Room != 2 {
		t.Errorf("a role that may have 3 connections and has one: room for %d, %v", server.Room, err)
	}
}

func TestWhatTheSchemaLacksIsNamed(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	all, _ := applied(t, migrator(t, address))
	look := func() outbox.Schema {
		t.Helper()
		s, err := inspector(t, address).Schema(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	if s := look(); s.Name == "" || s.Applied != 0 || len(s.Missing) != all || s.Missing[0] != "00001_intents.sql" || len(s.Newer) != 0 {
		t.Errorf("an empty schema: %+v", s)
	}
	if err := outbox.Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	if s := look(); s.Applied != all || len(s.Missing) != 0 || len(s.Newer) != 0 {
		t.Errorf("a migrated one: %+v", s)
	}
	b := bundleOf(t, address)
	b.exec(t, `INSERT INTO writ_migrations (version_id, is_applied) VALUES (990002, true), (990001, true)`)
	if s := look(); s.Applied != all || len(s.Newer) != 2 || s.Newer[0] != 990001 {
		t.Errorf("one of a later release: %+v", s)
	}
	b.exec(t, `DELETE FROM writ_migrations WHERE version_id = 1`)
	if s := look(); len(s.Missing) != 1 || s.Missing[0] != "00001_intents.sql" {
		t.Errorf("one that lacks the first: %+v", s)
	}
	address = with(t, address, "search_path", "nowhere_to_be_found")
	if s := look(); s.Name != "" || s.SearchPath != "nowhere_to_be_found" {
		t.Errorf("a search path that leads nowhere: %+v", s)
	}
}

func TestTheClockThatDecidesIsTheOneThatIsRead(t *testing.T) {
	t.Parallel()
	b := start(t)
	i := inspector(t, b.url)
	near, err := i.Clock(t.Context())
	if err != nil || near.Ahead.Abs() > near.Within+100*time.Millisecond {
		t.Errorf("the server of this machine is %+v ahead, %v", near, err)
	}
	b.exec(t, `CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS $$ SELECT clock_timestamp() - interval '90 seconds' $$`)
	far, err := i.Clock(t.Context())
	if err != nil || (far.Ahead+90*time.Second).Abs() > far.Within+100*time.Millisecond {
		t.Errorf("a clock that is 90 s behind is %+v ahead, %v", far, err)
	}
	if _, err := inspector(t, pgtest.Schema(t)).Clock(t.Context()); err != nil {
		t.Errorf("before the schema is there: %v", err)
	}
}

func TestTaskQueuesAreThoseOfTheToolsInForce(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.exec(t, `INSERT INTO tool_specs (name, digest, spec, task_queue, published_at) VALUES
		('b.two', sha256('1'), '{}', 'q-1', now()), ('a.one', sha256('2'), '{}', 'q-1', now()),
		('c.moved', sha256('3'), '{}', 'q-1', now() - interval '1 day'), ('c.moved', sha256('4'), '{}', 'q-2', now())`)
	queues, err := inspector(t, b.url).Queues(t.Context())
	if err != nil || len(queues) != 2 || queues[0].Name != "q-1" || strings.Join(queues[0].Tools, " ") != "a.one b.two" ||
		queues[1].Name != "q-2" || strings.Join(queues[1].Tools, " ") != "c.moved" {
		t.Errorf("%+v, %v", queues, err)
	}
	if _, err := inspector(t, pgtest.Schema(t)).Queues(t.Context()); err == nil {
		t.Error("tools were read where no table is")
	}
}

func TestWhyThereIsNoConnectionIsToldApart(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	elsewhere := func(change func(u *url.URL)) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		change(u)
		return u.String()
	}
	for name, c := range map[string]struct {
		address string
		want    outbox.Obstacle
	}{
		"nobody there":           {elsewhere(func(u *url.URL) { u.Host = "127.0.0.1:1" }), outbox.NoAnswer},
		"a wrong password":       {elsewhere(func(u *url.URL) { u.User = url.UserPassword(u.User.Username(), "hunter2") }), outbox.NotAuthorized},
		"a database that is not": {elsewhere(func(u *url.URL) { u.Path = "/nowhere" }), outbox.NoDatabase},
		"a setting that is not":  {with(t, address, "synchronous_commit", "sometimes"), outbox.OtherObstacle},
		"a pooler that is strict": {
			pgtest.Pooler(t, address, pgtest.PoolerOptions{OnlyKnownParameters: true}), outbox.NoParameter,
		},
	} {
		_, err := tryInspector(t, c.address)
		var refused *outbox.ConnectError
		if !errors.As(err, &refused) || refused.Why != c.want {
			t.Errorf("%s: %+v (%v), want %s", name, refused, err, c.want)
			continue
		}
		if strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: the error repeats the password: %v", name, err)
		}
	}
}

func TestAPoolerIsKnownByWhatItDoes(t *testing.T) {
	t.Parallel()
	b := start(t)
	for name, c := range map[string]struct {
		address string
		want    outbox.Pooler
	}{
		"none": {b.url, outbox.Pooler{Mode: outbox.Direct}},
		"session": {
			pgtest.Pooler(t, b.url, pgtest.PoolerOptions{}), outbox.Pooler{Mode: outbox.PerSession},
		},
		"transaction": {
			pgtest.Pooler(t, b.url, pgtest.PoolerOptions{PerTransaction: true}), outbox.Pooler{Mode: outbox.PerTransaction, Prepared: outbox.Lost},
		},
		"transaction, one connection": {
			pgtest.Pooler(t, b.url, pgtest.PoolerOptions{PerTransaction: true, Size: 1}), outbox.Pooler{Mode: outbox.PerTransaction, Prepared: outbox.Lost},
		},
		"transaction, in turn": {
			pgtest.Pooler(t, b.url, pgtest.PoolerOptions{PerTransaction: true, RoundRobin: true, Size: 3}), outbox.Pooler{Mode: outbox.PerTransaction, Prepared: outbox.Lost},
		},
		"transaction, many in turn": {
			pgtest.Pooler(t, b.url, pgtest.PoolerOptions{PerTransaction: true, RoundRobin: true, Size: 12}), outbox.Pooler{Mode: outbox.PerTransaction},
		},
		"transaction, prepared statements apart": {
			pgtest.Pooler(t, b.url, pgtest.PoolerOptions{PerTransaction: true, KeepPrepared: true}), outbox.Pooler{Mode: outbox.PerTransaction, Prepared: outbox.Kept},
		},
		"statement": {
			pgtest.Pooler(t, b.url, pgtest.PoolerOptions{PerStatement: true}), outbox.Pooler{Mode: outbox.PerStatement},
		},
	} {
		for mode, named := range map[string]bool{"cache_statement": true, "cache_describe": false} {
			t.Run(name+", "+mode, func(t *testing.T) {
				c.want.NamesStatements = named
				got, err := inspector(t, with(t, c.address, "default_query_exec_mode", mode)).Pooler(t.Context())
				if err != nil || got != c.want {
					t.Errorf("found %+v, %v; want %+v", got, err, c.want)
				}
			})
		}
	}
}

func TestAPoolerThatNothingCanWorkThroughIsRefused(t *testing.T) {
	t.Parallel()
	b := start(t)
	for name, c := range map[string]struct {
		options pgtest.PoolerOptions
		mode    string
		refused bool
	}{
		"session":                                {pgtest.PoolerOptions{}, "cache_statement", false},
		"transaction":                            {pgtest.PoolerOptions{PerTransaction: true}, "cache_statement", true},
		"transaction, statements without names":  {pgtest.PoolerOptions{PerTransaction: true}, "cache_describe", false},
		"transaction, prepared statements apart": {pgtest.PoolerOptions{PerTransaction: true, KeepPrepared: true}, "cache_statement", false},
		"statement":                              {pgtest.PoolerOptions{PerStatement: true}, "cache_describe", true},
		"it refuses the search path":             {pgtest.PoolerOptions{OnlyKnownParameters: true}, "cache_describe", true},
	} {
		t.Run(name, func(t *testing.T) {
			pool, _ := pgtest.Pool(t, with(t, pgtest.Pooler(t, b.url, c.options), "default_query_exec_mode", c.mode))
			err := outbox.New(pool).CheckPooler(t.Context())
			if refused := intent.CodeOf(err) == intent.CodeInvalidConfig; refused != c.refused || err != nil && !refused {
				t.Errorf("%v", err)
			}
		})
	}
	if err := b.CheckPooler(t.Context()); err != nil {
		t.Errorf("without a pooler: %v", err)
	}
}

// The doctor tells people to add it, so it has to be true.
func TestWithoutNamedStatementsTheOutboxWorksThroughATransactionPooler(t *testing.T) {
	t.Parallel()
	b := start(t)
	address := pgtest.Pooler(t, b.url, pgtest.PoolerOptions{PerTransaction: true, RoundRobin: true, Size: 3})
	through := bundleOf(t, with(t, address, "default_query_exec_mode", "cache_describe"))
	for _, key := range []string{"order-1", "order-2", "order-3"} {
		row := through.insert(t, propose(key, keyed()))
		granted := through.granted(t, row)
		ev := of(granted, "applied", "")
		through.evidence(t, granted.Row, ev)
		through.journal(t, granted.Row, &ev)
		if got := through.load(t, row.ID); got.State != "completed" {
			t.Errorf("%s is %s", key, got.State)
		}
	}
}
