package activities_test

import (
	"bytes"
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/tools"
)

func TestOfManyInvocationsOnOneVersionOneRunsTheTool(t *testing.T) {
	t.Parallel()
	for _, spec := range []tools.Spec{keyed(), opaque()} {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			b, provider := hosting(t, spec, applied)
			in := ask(spec.Name)
			p := b.recorded(t, in)
			outputs := make([]activities.InvokeOutput, 16)
			var group sync.WaitGroup
			for i := range outputs {
				group.Go(func() {
					var err error
					if outputs[i], err = b.Invoke(context.WithoutCancel(t.Context()), invocation(p, in)); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			granted := 0
			for _, out := range outputs {
				if out.Evidence != nil {
					granted++
				} else if out.Progress.Attempts != 1 {
					t.Errorf("an invocation without a claim was told %+v", out.Progress)
				}
			}
			if granted != 1 || len(provider.asked()) != 1 {
				t.Errorf("%d claims, the tool ran %d times", granted, len(provider.asked()))
			}
		})
	}
}

func TestWhatAToolDoesIsNeverTakenForLessThanItMayHaveDone(t *testing.T) {
	t.Parallel()
	boom := func() (tools.Result, error) { panic("nil map\x00\xff") }
	inGroup := func() (tools.Result, error) {
		g, _ := tools.NewGroup(context.Background())
		g.Go(func(context.Context) error { panic("nil map\x00\xff") })
		return tools.Result{}, g.Wait()
	}
	forged := &tools.Failure{Outcome: intent.Applied, Err: errors.New("a failure that says applied")}
	var none *tools.Failure
	for name, tc := range map[string]struct {
		spec   tools.Spec
		answer func() (tools.Result, error)
		want   intent.Outcome
		code   string
	}{
		"an opaque tool panics":            {opaque(), boom, intent.Unknown, "panic"},
		"a keyed tool panics":              {keyed(), boom, intent.Unknown, "panic"},
		"a read panics":                    {read(), boom, intent.NotApplied, "panic"},
		"a goroutine of a tool panics":     {opaque(), inGroup, intent.Unknown, "panic"},
		"a goroutine of a read panics":     {read(), inGroup, intent.NotApplied, "panic"},
		"a bare error":                     {opaque(), answering(errors.New("EOF")), intent.Unknown, "tool_error"},
		"a deadline":                       {opaque(), answering(context.DeadlineExceeded), intent.Unknown, "tool_error"},
		"a failure without an outcome":     {opaque(), answering(&tools.Failure{}), intent.Unknown, "tool_error"},
		"a failure that contradicts":       {opaque(), answering(forged), intent.Unknown, "tool_error"},
		"a nil failure in an error":        {opaque(), answering(none), intent.Unknown, "panic"},
		"an outcome that nobody knows":     {opaque(), answering(&tools.Failure{Outcome: "maybe"}), intent.Unknown, "tool_error"},
		"a code that PostgreSQL refuses":   {keyed(), answering(tools.Unknown(errors.New("\x00")).WithCode("a\x00\xff")), intent.Unknown, "a\uFFFD\uFFFD"},
		"a code longer than a code may be": {keyed(), answering(tools.NotApplied(nil).WithCode(strings.Repeat("é", 100))), intent.NotApplied, strings.Repeat("é", 32)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, _ := hosting(t, tc.spec, tc.answer)
			in := ask(tc.spec.Name, detached)
			out := b.invoke(t, b.recorded(t, in), in)
			if out.Evidence == nil || out.Evidence.Outcome != tc.want || out.Evidence.Code != tc.code {
				t.Fatalf("%+v", out.Evidence)
			}
			if a := b.row(t, in).Attempts[0]; a.Outcome != tc.want || a.Code != tc.code {
				t.Errorf("stored %+v", a)
			}
			for _, row := range slices.Concat(activities.AttemptCodes(), tools.AttemptCodes()) {
				if row.Code == tc.code && row.Outcome != tc.want && tc.spec.SideEffectful {
					t.Errorf("the table of codes says %+v", row)
				}
			}
		})
	}
}

func TestAToolThatBehavesOtherwiseSendsNothingForAnIntentThatWasSentBefore(t *testing.T) {
	t.Parallel()
	spec := keyed()
	spec.Retry = tools.RetryPolicy{InitialBackoff: 1, MaxBackoff: 1}
	other, short := spec, spec
	other.Provider = "other"
	short.Key.Remembers = tools.Window(time.Minute)
	b, provider := hosting(t, spec, answering(tools.Unknown(errors.New("504"))))
	in := ask("payments.capture")
	b.invoke(t, b.recorded(t, in), in)
	row := b.row(t, in)
	for name, spec := range map[string]tools.Spec{
		"a read":              {Name: "payments.capture", Retryable: true},
		"an opaque tool":      {Name: "payments.capture", Retryable: true, SideEffectful: true},
		"another provider":    other,
		"a provider's memory": short,
	} {
		newer := b.worker(t, nil, tools.New(spec, provider.invoke))
		if p, err := newer.Authorize(t.Context(), activities.Input{IntentID: in.IntentID}); err == nil {
			t.Errorf("%s: goes on with %+v", name, p.Step)
		}
		_, err := newer.Invoke(t.Context(), activities.InvokeInput{IntentID: in.IntentID, Tool: "payments.capture", Version: row.Version})
		if err == nil || len(b.row(t, in).Attempts) != 1 {
			t.Errorf("%s: %v, %d attempts", name, err, len(b.row(t, in).Attempts))
		}
	}
	if len(provider.asked()) != 1 {
		t.Errorf("the provider was asked %d times", len(provider.asked()))
	}
}

func TestEveryAnswerIsKeptAsItIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		result tools.Result
		want   string
	}{
		"JSON":                        {tools.Result{MediaType: "application/json", Body: []byte(`{"a": 1}`)}, "application/json"},
		"JSON without a media type":   {tools.Result{Body: []byte(`[1]`)}, "application/json"},
		"not JSON, it says":           {tools.Result{Body: []byte("\x00\xff")}, "application/octet-stream"},
		"not JSON, though it says so": {tools.Result{MediaType: "application/json", Body: []byte("{")}, "application/octet-stream"},
		"a document":                  {tools.Result{MediaType: "application/pdf", Body: []byte("%PDF-1.7\x00\x80")}, "application/pdf"},
		"text in another encoding":    {tools.Result{MediaType: "text/plain; charset=iso-8859-1", Body: []byte("gr\xfcn")}, "text/plain; charset=iso-8859-1"},
		"a media type with a NUL":     {tools.Result{MediaType: "a/\x00b\xff", Body: []byte("x")}, "a/\uFFFDb\uFFFD"},
		"a long media type":           {tools.Result{MediaType: strings.Repeat("a", 1000), Body: []byte("x")}, strings.Repeat("a", 255)},
		"no answer":                   {tools.Result{}, ""},
		"a media type without a body": {tools.Result{MediaType: "text/plain"}, ""},
	} {
		for _, spec := range []tools.Spec{keyed(), read()} {
			t.Run(name+", "+spec.Name, func(t *testing.T) {
				t.Parallel()
				b, _ := hosting(t, spec, func() (tools.Result, error) { return tc.result, nil })
				in := ask(spec.Name)
				if p, _ := b.drive(t, in); p.State != intent.Completed {
					t.Fatalf("%+v", p)
				}
				mediaType, body, err := b.result(t, in.IntentID)
				if err != nil || mediaType != tc.want || !bytes.Equal(body, tc.result.Body) {
					t.Errorf("%q %q, %v", mediaType, body, err)
				}
				r := b.receipt(t, in)
				if r.MediaType != tc.want || (r.ResultDigest == nil) != (tc.want == "") {
					t.Errorf("receipt %+v", r)
				}
			})
		}
	}
}

func TestALargeAnswerStandsInTheDatabaseAndNotInTheHistory(t *testing.T) {
	t.Parallel()
	const limit = 64 << 10
	for name, tc := range map[string]struct {
		spec    tools.Spec
		size    int
		commits pgtest.CommitCount
		calls   int
	}{
		"as large as the history takes": {keyed(), limit, pgtest.CommitCount{Flushed: 3, Relaxed: 1}, 1},
		// It is flushed before Temporal is told, since the journal cannot write it again.
		"one byte more": {keyed(), limit + 1, pgtest.CommitCount{Flushed: 4}, 1},
		// A read that is too large to be answered first is run again, with a row.
		"a read": {read(), limit + 1, pgtest.CommitCount{Flushed: 4}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := bytes.Repeat([]byte{'x', 0}, tc.size)[:tc.size]
			b, provider := hosting(t, tc.spec, func() (tools.Result, error) { return tools.Result{MediaType: "a/b", Body: body}, nil })
			in := ask(tc.spec.Name)
			b.commits.Take()
			p := b.persist(t, in, b.authorize(t, in))
			if tc.calls == 2 {
				in = ask(tc.spec.Name, func(r *activities.Request) { r.RequestKey = "order-4712" })
				b.commits.Take()
				if p, _ := b.drive(t, in); p.State != intent.Completed {
					t.Fatalf("%+v", p)
				}
			} else {
				out := b.invoke(t, p, in)
				if kept := out.Evidence.Result != nil; kept != (tc.size <= limit) || out.Evidence.Outcome != intent.Applied {
					t.Errorf("the history has %d bytes", len(out.Evidence.Result))
				}
				b.journal(t, activities.JournalInput{Input: activities.Input{IntentID: in.IntentID}, Evidence: out.Evidence})
			}
			if count := b.commits.Take(); count != tc.commits {
				t.Errorf("%+v, want %+v", count, tc.commits)
			}
			mediaType, stored, err := b.result(t, in.IntentID)
			if err != nil || mediaType != "a/b" || !bytes.Equal(stored, body) || len(provider.asked()) != tc.calls {
				t.Errorf("%s, %d bytes, %v; asked %d times", mediaType, len(stored), err, len(provider.asked()))
			}
			if r := b.receipt(t, in); *r.ResultDigest != intent.ResultDigest(b.row(t, in).Salt, "a/b", body) {
				t.Error("the receipt is about another body")
			}
		})
	}
}

func TestAClaimThatTookTooLongSendsNothingAndLeavesNoDoubt(t *testing.T) {
	t.Parallel()
	spec := opaque()
	spec.Timeout = time.Nanosecond
	b, provider := hosting(t, spec, applied)
	in := ask(spec.Name)
	out := b.invoke(t, b.recorded(t, in), in)
	if out.Evidence.Outcome != intent.NotApplied || out.Evidence.Code != "not_sent" || len(provider.asked()) != 0 {
		t.Errorf("%+v, asked %d times", out.Evidence, len(provider.asked()))
	}
}

func TestEvidenceThatTheDatabaseLostIsWrittenByTheJournal(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, opaque(), applied)
	in := ask("notifications.send")
	p := b.recorded(t, in)
	b.exec(t, `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
		RAISE EXCEPTION 'disk full' USING ERRCODE = 'disk_full'; END $$`)
	b.exec(t, `CREATE TRIGGER refuse BEFORE UPDATE ON attempts FOR EACH ROW EXECUTE FUNCTION refuse()`)
	out := b.invoke(t, p, in)
	if out.Evidence == nil || out.Evidence.Outcome != intent.Applied || b.row(t, in).Attempts[0].Outcome != "" {
		t.Fatalf("%+v", out)
	}
	b.exec(t, `DROP TRIGGER refuse ON attempts`)
	p = b.journal(t, activities.JournalInput{Input: activities.Input{IntentID: in.IntentID}, Evidence: out.Evidence})
	if p.State != intent.Completed || len(provider.asked()) != 1 {
		t.Errorf("%+v", p)
	}
	if _, body, err := b.result(t, in.IntentID); err != nil || string(body) != `{"captured":true}` {
		t.Errorf("%q, %v", body, err)
	}
}

func TestAnAttemptThatIsNotGrantedSendsNothing(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, keyed(), applied)
	in := ask("payments.capture")
	p := b.recorded(t, in)
	claim, err := b.store.Claim(t.Context(), outbox.ClaimRequest{ID: in.IntentID, Version: p.Version, DecidedAt: p.DecidedAt, SpecDigest: keyed().Digest()})
	if err != nil || !claim.Granted {
		t.Fatalf("%+v, %v", claim, err)
	}
	out := b.invoke(t, p, in) // on a version that is no more
	if out.Evidence != nil || out.Progress.Version != claim.Row.Version || out.Progress.Step.Kind != intent.Invoke || len(provider.asked()) != 0 {
		t.Errorf("%+v, asked %d times", out, len(provider.asked()))
	}
}
