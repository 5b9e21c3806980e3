package writ

import (
	"errors"
	"fmt"
	"testing"

	"writ/intent"
	"writ/workflows"
)

// oneAtOnce allows one open intent of the tests' tenant, and lets the others wait.
var oneAtOnce = BudgetRequest{Tenant: DefaultTenant, Kind: BudgetConcurrency, Allowed: "1", Over: OverWait}

func TestWhoMakesRoomInABudgetHasWhatWaitedForItGoOn(t *testing.T) {
	t.Parallel()
	inDoubt := func(e engine, t *testing.T) intent.ID { return e.park(t, refund, "order-0").ID }
	for name, c := range map[string]struct {
		// open writes the intent that takes the room.
		open func(e engine, t *testing.T) intent.ID
		free func(e engine, t *testing.T, open intent.ID, budget Budget) error
	}{
		"denies": {func(e engine, t *testing.T) intent.ID { return e.waiting(t, "order-0") },
			func(e engine, t *testing.T, open intent.ID, _ Budget) error {
				_, err := e.Deny(t.Context(), open, eve)
				return err
			}},
		"cancels": {func(e engine, t *testing.T) intent.ID { return e.insert(t, e.propose(t, refund, "order-0")).ID },
			func(e engine, t *testing.T, open intent.ID, _ Budget) error {
				_, err := e.Cancel(t.Context(), open, eve)
				return err
			}},
		"resolves": {inDoubt, func(e engine, t *testing.T, open intent.ID, _ Budget) error {
			_, err := e.Resolve(t.Context(), open, Resolution{As: ResolveApplied}, eve)
			return err
		}},
		"resolves from a file": {inDoubt, func(e engine, t *testing.T, open intent.ID, _ Budget) error {
			line := ResolutionLine{IntentID: open, Resolution: Resolution{As: ResolveNotApplied}, Note: "not in their books"}
			return e.ResolveAll(t.Context(), []ResolutionLine{line}, eve)[0].Err
		}},
		"raises": {inDoubt, func(e engine, t *testing.T, _ intent.ID, _ Budget) error {
			two := oneAtOnce
			two.Allowed = "2"
			_, err := e.SetBudget(t.Context(), two, eve)
			return err
		}},
		"removes": {inDoubt, func(e engine, t *testing.T, _ intent.ID, budget Budget) error {
			_, err := e.RemoveBudget(t.Context(), budget.ID, eve)
			return err
		}},
	} {
		for _, away := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, Temporal away: %t", name, away), func(t *testing.T) {
				t.Parallel()
				e := newEngine(t)
				budget, err := e.SetBudget(t.Context(), oneAtOnce, eve)
				if err != nil {
					t.Fatal(err)
				}
				open := c.open(e, t)
				waiting := e.insert(t, e.propose(t, refund, "order-1"))
				if waiting.Next().Reason != intent.ReasonAwaitsBudget {
					t.Fatalf("%+v", waiting.Next())
				}
				if away {
					e.temporal.refuse = errors.New("connection refused")
				}
				if err := c.free(e, t, open, budget); err != nil {
					t.Fatal(err)
				}
				if row, err := e.store.Load(t.Context(), waiting.ID); err != nil || row.Next().Kind != intent.Invoke {
					t.Errorf("%+v, %v", row.Next(), err)
				}
				if away { // recovery goes on with it
					if stalled, err := e.store.TakeStalled(t.Context(), 10); err != nil || len(stalled) != 1 || stalled[0].ID != waiting.ID {
						t.Errorf("%+v, %v", stalled, err)
					}
					return
				}
				if n := len(e.temporal.started); n == 0 || e.temporal.started[n-1].ID != workflows.ID(waiting.ID) {
					t.Errorf("Temporal was asked to start %+v", e.temporal.started)
				}
			})
		}
	}
}
