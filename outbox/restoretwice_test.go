package outbox_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"writ/outbox"
)

// restored is what AfterRestore returns.
type restored struct {
	done outbox.AfterRestored
	err  error
}

// afterRestoreWhile runs AfterRestore into a transaction that holds a row of the table, which ends
// after what is done meanwhile, and returns what came of it.
func (b bundle) afterRestoreWhile(t *testing.T, table string, holds func(tx pgx.Tx), meanwhile func()) restored {
	t.Helper()
	ended := make(chan restored, 1)
	err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
		holds(tx)
		go func() {
			done, err := b.AfterRestore(t.Context(), outbox.Restore{}, ada)
			ended <- restored{done, err}
		}()
		b.awaitWaiting(t, table, 1)
		meanwhile()
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return <-ended
}

func TestTwoOperatorsMaySayAtTheSameMomentWhatIsTrusted(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.insert(t, propose("order-1", opaque()))
	b.loseCommits(t)
	got := b.afterRestoreWhile(t, "timelines", func(tx pgx.Tx) {
		_, err := tx.Exec(t.Context(), `
			INSERT INTO timelines (number, system_identifier, timeline, principal, note, decided_at, marked)
			SELECT max(number) + 1, max(system_identifier), 0, 'eve', '', writ_now(), 0 FROM timelines`)
		if err != nil {
			t.Fatal(err)
		}
	}, func() {})
	if got.err != nil || got.done.Marked != 1 {
		t.Errorf("%+v", got)
	}
	if now := b.timelines(t); now.Restored() || now.Principal != "ada" {
		t.Errorf("%+v", now)
	}
}

// The slower of two operators must not take for lost what was claimed, or enqueued, since the
// faster one had come to the end.
func TestNothingIsMarkedOrParkedAfterSomebodyElseHasTrustedTheHistory(t *testing.T) {
	t.Parallel()
	for table, parked := range map[string]int{"intents": 1, "enqueued": 0} { // it parks before it marks
		t.Run("it waits for "+table, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			row := b.insert(t, propose("order-1", opaque()))
			if err := b.enqueue(t, requested(propose("order-2", keyed())), true); err != nil {
				t.Fatal(err)
			}
			b.loseCommits(t)
			got := b.afterRestoreWhile(t, table, func(tx pgx.Tx) {
				execIn(t, tx, `SELECT FROM `+table+` FOR UPDATE`)
			}, func() { b.trust(t, "system_identifier, timeline - 1") })
			if got.err != nil || got.done.Marked != 0 || got.done.Parked != parked {
				t.Errorf("%+v", got)
			}
			if after := b.load(t, row.ID); len(after.Attempts) != 0 {
				t.Errorf("%+v", after.Attempts)
			}
		})
	}
}
