package activities_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
)

// A workflow that carries a dropped request ends with an answer, also where nobody knows whether the
// request was run in what PostgreSQL lost.
func TestAWorkflowThatCarriesADroppedRequestEndsAndSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		history string
		effect  intent.Outcome
	}{
		"nothing is lost":     {"timeline", intent.NotApplied},
		"commits may be lost": {"timeline + 1", intent.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, provider := hosting(t, opaque(), applied)
			in := ask("notifications.send", detached)
			err := pgx.BeginFunc(t.Context(), b.pool, func(tx pgx.Tx) error {
				_, err := outbox.Enqueue(t.Context(), tx, outbox.Enqueued{
					RequestKey: in.Request.RequestKey, Action: in.Request.Action(), EffectContext: in.Request.Context.Canonical(),
				})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
			b.exec(t, `INSERT INTO timelines (number, system_identifier, timeline, principal, note, decided_at, marked)
				SELECT number + 1, system_identifier, `+tc.history+`, 'nobody', 'a test', writ_now(), 0 FROM timelines`)
			if _, err := b.store.Drop(t.Context(), in.IntentID, outbox.Decider{Principal: "ada", Note: "withdrawn"}); err != nil {
				t.Fatal(err)
			}
			p, _ := b.drive(t, in)
			if p.Rejection == nil {
				t.Fatalf("%+v", p)
			}
			if e := p.Rejection.Error(); e.Code != intent.CodeDropped || e.Effect != tc.effect || e.TryAgain {
				t.Errorf("%+v", e)
			}
			if len(provider.asked()) != 0 || b.rows(t) != 0 {
				t.Error("what was dropped left something")
			}
		})
	}
}
