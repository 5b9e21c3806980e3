package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
)

// enqueue enqueues numbered captures for the world's tenants, each of which has every tenth, in
// transactions of a hundred.
func (w *world) enqueue(t testing.TB, from, until int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), drainPatience)
	defer cancel()
	host, err := pgx.Connect(ctx, w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(ctx)
	for ; from < until; from += 100 {
		err := pgx.BeginFunc(ctx, host, func(tx pgx.Tx) error {
			for n := from; n < min(from+100, until); n++ {
				if _, err := outbox.Enqueue(ctx, tx, w.enqueued(n)); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

func (w *world) enqueued(n int) outbox.Enqueued {
	tenant := fmt.Sprintf("%s-%d", w.name, n%10)
	return outbox.Enqueued{RequestKey: intent.RequestKey(fmt.Sprintf("order-%d", n)),
		Action: intent.Action{Tenant: tenant, Principal: "shop", Tool: capture.tool,
			Payload: fmt.Appendf(nil, `{"amount":"1.00","currency":"EUR","payment_id":"pay_%d"}`, n)},
		EffectContext: intent.EffectContext{Principal: "shop", Tenant: tenant, AuthenticationSource: intent.AuthenticatedDirect}.Canonical()}
}

// startRecovery starts a writ recover and returns when it looks for work.
func (w *world) startRecovery(t testing.TB, flags ...string) *process {
	t.Helper()
	p := start(t, "recover", program("writ"), w.environment(), append([]string{"recover", "-o", "json"}, flags...)...)
	if _, err := p.readyLine(); err != nil {
		t.Fatal(err)
	}
	return p
}

// A dispatcher and a worker that dispatches are killed on the way, with requests in their hands.
// It keeps the machine busy for minutes, so it runs beside no other test.
func TestEveryEnqueuedRequestHasItsEffectOnceWhateverDiesOnTheWay(t *testing.T) {
	n := backlogSize(t)
	w := newWorld(t)
	w.enqueue(t, 0, n)
	flags := []string{"--dispatch-at-once", "30"} // as many as two cores carry well
	worker, recovery := w.startWorkerWith(t, flags), w.startRecovery(t, flags...)
	memory := []*resident{{of: worker, what: "a worker"}, {of: recovery, what: "writ recover"}}
	doomed := []*process{w.startRecovery(t, flags...), w.startWorkerWith(t, flags)}
	begun, deadline := time.Now(), time.Now().Add(drainPatience*time.Duration(1+n/5000))
	for killed := 0; ; {
		var left, done int
		query(t, w.database, `SELECT (SELECT count(*) FROM enqueued), (SELECT count(*) FROM intents WHERE state = 'completed')`, &left, &done)
		if left == 0 && done == n {
			if killed != len(doomed) {
				t.Errorf("only %d processes were killed on the way", killed)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%d are enqueued, %d of %d are completed", left, done, n)
		}
		if killed < len(doomed) && done > (killed+1)*n/5 {
			doomed[killed].kill()
			killed++
		}
		for _, m := range memory {
			if done > n/10 { // it is warm
				m.sample(t)
			}
		}
		select {
		case <-time.After(time.Second):
		case <-t.Context().Done():
		}
	}
	took := time.Since(begun)
	w.wantOneCaptureEach(t, n)
	progress("%d enqueued requests drained in %.0f s, %.0f/s, over the kill of a dispatcher and of a worker", n, took.Seconds(), float64(n)/took.Seconds())
	for _, m := range memory {
		progress("memory of %s meanwhile: %s", m.what, m)
	}
}

// drainPatience is how long a busy machine may take for every five thousand requests.
const drainPatience = 10 * time.Minute

// backlogVariable is how many requests are enqueued instead of the usual number, for a run by hand.
const backlogVariable = "WRIT_TEST_BACKLOG"

func backlogSize(t testing.TB) int {
	t.Helper()
	text, set := os.LookupEnv(backlogVariable)
	if !set {
		return 5000
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 100 {
		t.Fatalf("%s is %q; choose a number from 100 on", backlogVariable, text)
	}
	return n
}

// resident is how much memory a process held in RAM, in KiB, as often as it was looked at. Where
// there is no /proc nothing is seen.
type resident struct {
	of                       *process
	what                     string
	seen                     int
	first, last, least, most int
}

func (r *resident) sample(t testing.TB) {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", r.of.cmd.Process.Pid))
	if err != nil {
		return
	}
	found := residentLine.FindSubmatch(status)
	if found == nil {
		return
	}
	now, err := strconv.Atoi(string(found[1]))
	if err != nil {
		t.Fatal(err)
	}
	if r.seen == 0 {
		r.first, r.least = now, now
	}
	r.least, r.most, r.last, r.seen = min(r.least, now), max(r.most, now), now, r.seen+1
}

var residentLine = regexp.MustCompile(`VmRSS:\s+(\d+) kB`)

func (r *resident) String() string {
	return fmt.Sprintf("%d samples, first %d MiB, last %d MiB, least %d MiB, most %d MiB", r.seen, r.first>>10, r.last>>10, r.least>>10, r.most>>10)
}

// wantOneCaptureEach asks the provider's books: one effect for each number below n.
func (w *world) wantOneCaptureEach(t testing.TB, n int) {
	t.Helper()
	ledger, err := w.provider.Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	captured := map[string]int{}
	for _, entry := range ledger {
		var body struct {
			PaymentID string `json:"payment_id"`
		}
		if err := json.Unmarshal(entry.Body, &body); err != nil {
			t.Fatal(err)
		}
		captured[body.PaymentID]++
	}
	wrong := 0
	for i := range n {
		if times := captured[fmt.Sprintf("pay_%d", i)]; times != 1 {
			if wrong++; wrong <= 10 {
				t.Errorf("pay_%d was captured %d times", i, times)
			}
		}
	}
	if wrong > 0 || len(captured) != n {
		t.Errorf("%d of %d payments were not captured once; %d payments are in the books", wrong, n, len(captured))
	}
}
