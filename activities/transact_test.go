package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/internal/pgtest"
	"writ/tools"
	"writ/tools/sample"
)

func transactional() tools.Spec {
	return tools.Spec{Name: "ledger.post", Retryable: true, Timeout: 20 * time.Second,
		Retry: tools.RetryPolicy{MaxAttempts: 3, InitialBackoff: 1, MaxBackoff: 1}}
}

// posting is a worker with a tool that writes one row and then answers.
func posting(t *testing.T, spec tools.Spec, answer func(ctx context.Context, tx tools.Tx) (tools.Result, error)) bundle {
	t.Helper()
	b := start(t, nil, tools.NewTransactional(spec, func(ctx context.Context, tx tools.Tx, inv tools.Invocation) (tools.Result, error) {
		if _, err := tx.Exec(ctx, `INSERT INTO postings (attempt) VALUES ($1)`, inv.Attempt()); err != nil {
			return tools.Result{}, err
		}
		return answer(ctx, tx)
	}))
	b.exec(t, `CREATE TABLE postings (attempt int)`)
	return b
}

// postings are the attempts whose effect is there.
func (b bundle) postings(t *testing.T) (attempts []int) {
	t.Helper()
	if err := b.pool.QueryRow(t.Context(), `SELECT coalesce(array_agg(attempt), '{}') FROM postings`).Scan(&attempts); err != nil {
		t.Fatal(err)
	}
	return attempts
}

func posted(context.Context, tools.Tx) (tools.Result, error) { return applied() }

func TestATransactionalToolTakesThreeFlushedCommitsAndNoJournal(t *testing.T) {
	t.Parallel()
	b := posting(t, transactional(), posted)
	in := ask("ledger.post", detached)
	b.commits.Take()
	p, steps := b.drive(t, in)
	if want := []string{"persist", "invoke", "stop"}; p.State != intent.Completed || !slices.Equal(steps, want) {
		t.Errorf("%s after %v, want %v", p.State, steps, want)
	}
	if got, want := b.commits.Take(), (pgtest.CommitCount{Flushed: 3}); got != want {
		t.Errorf("the commits were %+v, want %+v", got, want)
	}
	if got := b.postings(t); !slices.Equal(got, []int{1}) {
		t.Errorf("the effects are %v", got)
	}
	r := b.receipt(t, in)
	if r.State != intent.Completed || r.Outcome != intent.Applied || len(r.Attempts) != 1 || r.Attempts[0].Outcome != intent.Applied {
		t.Errorf("the receipt is %+v", r)
	}
	if mediaType, body, err := b.result(t, in.IntentID); err != nil || mediaType != tools.MediaTypeJSON || string(body) != `{"captured":true}` {
		t.Errorf("the answer is %s %s, %v", mediaType, body, err)
	}
}

func TestWhateverGoesWrongInATransactionalToolTheOutcomeIsCertain(t *testing.T) {
	t.Parallel()
	short := transactional()
	short.Timeout = 500 * time.Millisecond
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	for name, c := range map[string]struct {
		spec   tools.Spec
		answer func(context.Context, tools.Tx) (tools.Result, error)
		code   string
	}{
		"a_bare_error": {transactional(), func(context.Context, tools.Tx) (tools.Result, error) {
			return tools.Result{}, errors.New("EOF")
		}, "tool_error"},
		"a_failure_that_calls_itself_unknown": {transactional(), func(context.Context, tools.Tx) (tools.Result, error) {
			return tools.Result{}, tools.Unknown(errors.New("who knows")).WithCode("odd").AsAlready().AsInProgress()
		}, "odd"},
		"a_panic": {transactional(), func(context.Context, tools.Tx) (tools.Result, error) { panic("boom") }, "panic"},
		"an_end_of_its_goroutine": {transactional(), func(context.Context, tools.Tx) (tools.Result, error) {
			runtime.Goexit()
			return tools.Result{}, nil
		}, "goexit"},
		"a_statement_that_runs_too_long": {short, func(ctx context.Context, tx tools.Tx) (tools.Result, error) {
			_, err := tx.Exec(ctx, `SELECT pg_sleep(60)`)
			return tools.Result{}, fmt.Errorf("post: %w", err)
		}, "statement_timeout"},
		"a_tool_that_does_not_come_back": {short, func(context.Context, tools.Tx) (tools.Result, error) {
			<-hang
			return applied()
		}, "deadline_exceeded"},
		"an_error_that_it_hides": {transactional(), func(ctx context.Context, tx tools.Tx) (tools.Result, error) {
			_, _ = tx.Exec(ctx, `SELECT 1/0`)
			return applied()
		}, "transaction_broken"},
		"a_commit_of_its_own": {transactional(), func(ctx context.Context, tx tools.Tx) (tools.Result, error) {
			_, _ = tx.Exec(ctx, `COMMIT`)
			return applied()
		}, "statement_refused"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := posting(t, c.spec, c.answer)
			in := ask("ledger.post", detached)
			out := b.invoke(t, b.recorded(t, in), in)
			if out.Evidence == nil || out.Evidence.Outcome != intent.NotApplied || out.Evidence.Code != c.code {
				t.Fatalf("the evidence is %+v", out.Evidence)
			}
			if ev := out.Evidence; ev.Already || ev.InProgress || strings.Contains(ev.Message, "unknown") {
				t.Errorf("the evidence says more than is so: %+v", ev)
			}
			a := b.row(t, in).Attempts[0]
			if a.Outcome != intent.NotApplied || a.Code != c.code || a.Transacted || len(b.postings(t)) != 0 {
				t.Errorf("stored %+v, with the effects %v", a, b.postings(t))
			}
			for _, row := range slices.Concat(activities.AttemptCodes(), activities.TransactionCodes()) {
				if row.Code == c.code && row.Final != out.Evidence.Final {
					t.Errorf("the table of codes says %+v", row)
				}
			}
		})
	}
}

func TestATransactionalToolIsTriedAgainWithinItsBudgetAndNeverInDoubt(t *testing.T) {
	t.Parallel()
	b := posting(t, transactional(), func(context.Context, tools.Tx) (tools.Result, error) {
		return tools.Result{}, errors.New("EOF")
	})
	in := ask("ledger.post", detached)
	p, steps := b.drive(t, in)
	if r := b.receipt(t, in); p.State != intent.Failed || r.Reason != intent.ReasonBudgetSpent || r.Outcome != intent.NotApplied || len(r.Attempts) != 3 {
		t.Errorf("%s after %v: %+v", p.State, steps, r)
	}
}

func TestRowsThatATransactionalToolLeavesOpenDoNotCostItsEffect(t *testing.T) {
	t.Parallel()
	b := posting(t, transactional(), func(ctx context.Context, tx tools.Tx) (tools.Result, error) {
		rows, err := tx.Query(ctx, `SELECT generate_series(1, 100000)`)
		if err != nil || !rows.Next() {
			return tools.Result{}, errors.Join(err, errors.New("there are no rows"))
		}
		return applied()
	})
	in := ask("ledger.post", detached)
	p, steps := b.drive(t, in)
	if got := b.postings(t); p.State != intent.Completed || !slices.Equal(got, []int{1}) {
		t.Errorf("%s after %v: the effects are %v", p.State, steps, got)
	}
}

func TestAnAnswerThatIsNotWhatWasPromisedIsCommittedAndSaidSo(t *testing.T) {
	t.Parallel()
	spec := transactional()
	spec.OutputSchema = json.RawMessage(`{"type":"object","required":["number"]}`)
	b := posting(t, spec, posted)
	in := ask("ledger.post", detached)
	p, _ := b.drive(t, in)
	if a := b.row(t, in).Attempts[0]; p.State != intent.Completed || a.Outcome != intent.Applied || a.Code != activities.CodeInvalidOutput {
		t.Errorf("%s with %+v", p.State, a)
	}
	if got := b.postings(t); !slices.Equal(got, []int{1}) {
		t.Errorf("the effects are %v", got)
	}
}

func TestAClaimThatFindsTheTransactionRunningComesBackLater(t *testing.T) {
	t.Parallel()
	running, finish := make(chan struct{}), make(chan struct{})
	b := posting(t, transactional(), func(context.Context, tools.Tx) (tools.Result, error) {
		close(running)
		<-finish
		return applied()
	})
	in := ask("ledger.post", detached)
	p := b.recorded(t, in)
	first := make(chan activities.InvokeOutput, 1)
	go func() {
		out, err := b.Invoke(context.WithoutCancel(t.Context()), invocation(p, in))
		if err != nil {
			t.Error(err)
		}
		first <- out
	}()
	<-running
	// Its worker is taken for lost: the rule, asked again, says to invoke.
	again := b.authorize(t, activities.Input{IntentID: in.IntentID})
	if again.Step.Kind != intent.Invoke {
		t.Fatalf("the step is %+v", again.Step)
	}
	out := b.invoke(t, again, in)
	if s := out.Progress.Step; out.Evidence != nil || s.Kind != intent.Wait || s.Reason != intent.ReasonLeaseRunning || out.Progress.WaitMS < 1000 || out.Progress.WaitMS > 20_000 {
		t.Errorf("the second claim says %+v, wait %d ms", s, out.Progress.WaitMS)
	}
	close(finish)
	if out := <-first; out.Progress.State != intent.Completed || out.Evidence != nil {
		t.Errorf("the first says %+v", out)
	}
	if out := b.invoke(t, again, in); out.Progress.Step.Kind != intent.Stop || out.Progress.State != intent.Completed {
		t.Errorf("after the end the claim says %+v", out.Progress)
	}
	if got := b.postings(t); !slices.Equal(got, []int{1}) {
		t.Errorf("the effects are %v", got)
	}
}

func TestAPolicyThatTurnsATransactionalToolDownLaterEndsItWithNothingDone(t *testing.T) {
	t.Parallel()
	b := posting(t, transactional(), posted)
	in := ask("ledger.post", detached)
	p := b.recorded(t, in)
	b.exec(t, `UPDATE intents SET version = version + 1, state = 'invoking', first_sent_at = writ_now(), due_at = writ_now()`)
	b.exec(t, `INSERT INTO attempts (intent_id, number, generation, token, worker, claimed_at, lease_until, send_by)
		SELECT id, 1, 1, gen_random_uuid(), 'lost', writ_now(), writ_now(), writ_now() FROM intents`)
	b.exec(t, `UPDATE intents SET version = version + 1, revoked_at = writ_now(), revocation = '{}'`)
	if p = b.journal(t, activities.JournalInput{Input: activities.Input{IntentID: in.IntentID}}); p.State != intent.Failed {
		t.Fatalf("it is %s", p.State)
	}
	if r := b.receipt(t, in); r.Outcome != intent.NotApplied || r.Attempts[0].Outcome != intent.NotApplied || r.Attempts[0].Code != "fenced" {
		t.Errorf("the receipt is %+v", r)
	}
}

// documents is a worker with the sample tools.
func documents(t *testing.T) bundle {
	t.Helper()
	list, err := sample.Tools(sample.Config{ProviderURL: "http://127.0.0.1:9"})
	if err != nil {
		t.Fatal(err)
	}
	return start(t, nil, list...)
}

func TestADocumentIsKeptAndPurgedOnceByItsTenant(t *testing.T) {
	t.Parallel()
	b := documents(t)
	do := func(key, tool, tenant, payload string) (activities.Progress, activities.Input) {
		t.Helper()
		in := ask(tool, detached, func(r *activities.Request) {
			r.RequestKey, r.Payload, r.Context.Tenant = intent.RequestKey(key), json.RawMessage(payload), tenant
		})
		in.IntentID = intent.IntentID(tenant, in.Request.RequestKey)
		p, _ := b.drive(t, in)
		return p, in
	}
	const document = `{"document_id":"doc/7","title":"Terms","content":"a document"}`
	for _, c := range []struct {
		key, tool, tenant, payload string
		state                      intent.State
		code, answer               string
	}{
		{"1", "documents.store", "acme", document, intent.Completed, "", `{"document_id":"doc/7","size":10}`},
		{"2", "documents.store", "acme", document, intent.Failed, sample.CodeDocumentExists, ""},
		{"3", "documents.purge", "other", `{"document_id":"doc/7"}`, intent.Failed, sample.CodeDocumentNotFound, ""},
		{"4", "documents.purge", "acme", `{"document_id":"doc/7"}`, intent.Completed, "", `{"document_id":"doc/7","title":"Terms","size":10}`},
		{"5", "documents.purge", "acme", `{"document_id":"doc/7"}`, intent.Failed, sample.CodeDocumentNotFound, ""},
	} {
		p, in := do(c.key, c.tool, c.tenant, c.payload)
		a := b.row(t, in).Attempts
		if p.State != c.state || len(a) != 1 || a[0].Code != c.code {
			t.Errorf("%s: %s with %+v", c.key, p.State, a)
		}
		if _, body, err := b.result(t, in.IntentID); err != nil || string(body) != c.answer {
			t.Errorf("%s: the answer is %s, %v", c.key, body, err)
		}
	}
}
