package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"os"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/internal/killpoint"
	"writ/internal/sandbox"
)

// buyersVariable makes this test program a client process that executes a share of intents at once
// and prints how they ended.
const buyersVariable = "WRIT_TEST_BUYERS"

// share is what one client process asks for.
type share struct {
	Tenant, Prefix, Tool, Payload string
	Intents, AtOnce               int
	// Failing is the payload of every second one; empty: all have the same.
	Failing string
}

// ends counts by the codes of errors how intents ended; "" is completed.
type ends map[intent.Code]int

func runBuyers(text string) int {
	var s share
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	cfg, err := writ.FromEnvironment()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := writ.Dial(ctx, cfg)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer client.Close()
	if err := json.NewEncoder(os.Stdout).Encode(s.buy(ctx, client)); err != nil {
		return 1
	}
	return 0
}

func (s share) buy(ctx context.Context, client *writ.Client) ends {
	var next atomic.Int64
	var mu sync.Mutex
	var buyers sync.WaitGroup
	all := ends{}
	for range s.AtOnce {
		buyers.Go(func() {
			for {
				n := int(next.Add(1))
				if n > s.Intents {
					return
				}
				payload := s.Payload
				if s.Failing != "" && n%2 == 0 {
					payload = s.Failing
				}
				code := execute(ctx, client, writ.Request{
					Tool: s.Tool, RequestKey: fmt.Sprintf("%s-%d", s.Prefix, n), Tenant: s.Tenant, Principal: "shop", Payload: []byte(payload),
				})
				mu.Lock()
				all[code]++
				mu.Unlock()
			}
		})
	}
	buyers.Wait()
	return all
}

// execute asks again while it is not known how the intent ended, as when a busy Temporal does not
// answer.
func execute(ctx context.Context, client *writ.Client, r writ.Request) intent.Code {
	for {
		_, err := client.Execute(ctx, r)
		var e *writ.Error
		switch {
		case err == nil:
			return ""
		case !errors.As(err, &e):
			return intent.CodeUnexpected
		case ctx.Err() != nil || !e.TryAgain || e.Effect != intent.Unknown:
			return e.Code
		}
	}
}

// buy starts client processes with equal shares of the intents. No worker has to be there.
func (w *world) buy(t *testing.T, processes int, s share) (awaitEnds func() ends) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	w.startWorker(t).stop(t) // it has published its tools
	s.Tenant, s.Intents = w.name, s.Intents/processes
	started := make([]*process, processes)
	for i := range started {
		s.Prefix = fmt.Sprintf("order-%d", i)
		text, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		started[i] = start(t, "buyers", self, append(w.environment(), buyersVariable+"="+string(text)))
	}
	return func() ends {
		all := ends{}
		for _, p := range started {
			var one ends
			p.document(t, &one)
			for code, n := range one {
				all[code] += n
			}
		}
		return all
	}
}

func (w *world) budget(t *testing.T, r writ.BudgetRequest) writ.Budget {
	t.Helper()
	r.Tenant = w.name
	set, err := w.dial(t).SetBudget(t.Context(), r, writ.Decider{Principal: "ada"})
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// eurosAYear does not begin anew while a test runs, unless that is at one moment of a leap year.
var eurosAYear = writ.BudgetRequest{Kind: writ.BudgetMoney, Allowed: "100.00", Currency: "EUR", Window: 366 * 24 * time.Hour}

// ambushes starts a worker for each point of a group, and kills those of the group when intents stand
// at all of its points; one group after the other.
func (w *world) ambushes(t *testing.T, groups ...[]killpoint.Point) {
	t.Helper()
	for _, group := range groups {
		doomed, traps := make([]*process, len(group)), make([]ambush, len(group))
		for i, point := range group {
			traps[i] = newAmbush(t, point)
			doomed[i] = w.startWorker(t, traps[i].environment()...)
		}
		for _, trap := range traps {
			trap.await(t, 1)
		}
		for _, p := range doomed {
			p.kill()
		}
	}
}

// nothingOpen fails unless every intent has ended with a receipt and nothing waits for a budget.
func (w *world) nothingOpen(t *testing.T) {
	t.Helper()
	var open, unsealed, waiting int
	query(t, w.database, `
		SELECT count(*) FILTER (WHERE i.ended_at IS NULL), count(*) FILTER (WHERE NOT EXISTS (SELECT FROM receipts r WHERE r.intent_id = i.id)),
			(SELECT count(*) FROM budget_waits) FROM intents i`, &open, &unsealed, &waiting)
	if open != 0 || unsealed != 0 || waiting != 0 {
		t.Errorf("%d intents are open, %d have no receipt, %d wait for a budget", open, unsealed, waiting)
	}
}

// spent adds up the ledger exactly, and fails if it is more than was allowed.
func (w *world) spent(t *testing.T, effects []sandbox.Entry, allowed string) *big.Rat {
	t.Helper()
	sum := new(big.Rat)
	for _, e := range effects {
		var body struct{ Amount string }
		if err := json.Unmarshal(e.Body, &body); err != nil {
			t.Fatalf("%s: %v", e.Body, err)
		}
		amount, ok := new(big.Rat).SetString(body.Amount)
		if !ok {
			t.Fatalf("%s has no amount", e.Body)
		}
		sum.Add(sum, amount)
	}
	if limit, _ := new(big.Rat).SetString(allowed); sum.Cmp(limit) > 0 {
		t.Errorf("%s was spent, and %s allowed", sum.FloatString(2), allowed)
	}
	return sum
}

// It keeps the machine busy, so it runs beside no other test.
func TestOfFourHundredIntentsThatCompeteForAHundredEurosExactlyAHundredHaveTheirEffectWhileWorkersAreKilled(t *testing.T) {
	w := newWorld(t)
	budget := w.budget(t, eurosAYear)
	w.startWorker(t).kill() // until one has published its tools, there is nothing to ask for
	began := time.Now()
	bought := w.buy(t, 4, share{Tool: capture.tool, Payload: `{"payment_id":"pay_1","amount":"1.00","currency":"EUR"}`, Intents: 400, AtOnce: 8})
	w.ambushes(t, []killpoint.Point{killpoint.BeforePersist, killpoint.AfterPersist},
		[]killpoint.Point{killpoint.BeforeSend, killpoint.BeforeClaim},
		[]killpoint.Point{killpoint.BeforeJournal, killpoint.AfterJournal})
	hasty := w.startWorker(t)
	w.startWorker(t)
	w.provider.await(t, sandbox.StateReceived, 40)
	hasty.kill() // wherever it is
	w.startWorker(t)
	got := bought()
	if len(got) != 2 || got[""] != 100 || got[intent.CodeBudgetExceeded] != 300 {
		t.Errorf("they ended as %v", got)
	}
	w.spent(t, w.provider.effects(t, 100), "100.00")
	w.nothingOpen(t)
	list, err := w.dial(t).Budgets(t.Context(), w.name, false)
	if err != nil || len(list) != 1 || list[0].ID != budget.ID || list[0].Used != "100.00" || list[0].Left != "0.00" {
		t.Errorf("%+v, %v", list, err)
	}
	t.Logf("400 intents took %s", time.Since(began).Round(time.Millisecond))
}

// The tool is one that can be looked up: of what a killed worker has sent it is found out whether it
// happened, and only then is its euro somebody else's. It runs beside no other test either.
func TestWhatFailedProvablyIsSpentByOthersAndNeverTwice(t *testing.T) {
	w := newWorld(t)
	w.budget(t, writ.BudgetRequest{Kind: writ.BudgetMoney, Allowed: "31.00", Currency: "EUR", Window: eurosAYear.Window, Over: writ.OverWait})
	w.budget(t, writ.BudgetRequest{Kind: writ.BudgetConcurrency, Allowed: "6", Over: writ.OverWait})
	w.provider.fault(t, sandbox.Fault{Fault: sandbox.FaultRefuse, Status: 422, MatchBody: "acc_fails", Times: new(int)})
	began := time.Now()
	// 30 of them succeed, and 30 fail and give theirs back: one euro is for them when all others are
	// spent.
	bought := w.buy(t, 2, share{Tool: transfer.tool, Payload: `{"account_id":"acc_1","amount":"1.00","currency":"EUR"}`,
		Failing: `{"account_id":"acc_fails","amount":"1.00","currency":"EUR"}`, Intents: 60, AtOnce: 12})
	// One after the other: who stands at a point keeps its place, and the next worker may need it.
	w.ambushes(t, []killpoint.Point{killpoint.AfterPersist}, []killpoint.Point{killpoint.BeforeEvidence},
		[]killpoint.Point{killpoint.BeforeJournal}, []killpoint.Point{killpoint.AfterJournal})
	w.startWorker(t)
	w.startWorker(t)
	got := bought()
	if len(got) != 2 || got[""] != 30 || got[intent.CodeFailed] != 30 {
		t.Errorf("they ended as %v", got)
	}
	w.spent(t, w.provider.effects(t, 30), "31.00")
	w.nothingOpen(t)
	var used string
	query(t, w.database, `SELECT string_agg(c.used::text, ' ' ORDER BY b.kind) FROM budgets b JOIN budget_counters c ON c.budget_id = b.id`, &used)
	if used != "0 30.00" {
		t.Errorf("%s are used", used)
	}
	t.Logf("60 intents took %s", time.Since(began).Round(time.Millisecond))
}
