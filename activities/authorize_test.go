package activities_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

type policyFunc func() (policy.Verdict, error)

func (policyFunc) Name() string { return "test" }

func (f policyFunc) Evaluate(context.Context, policy.Facts) (policy.Verdict, error) { return f() }

// picky is a tool with a validation of its own.
type picky struct{ tools.Tool }

func (picky) Validate([]byte) error { return errors.New("the currency is missing") }

func TestARequestThatIsNotAcceptableWritesNothing(t *testing.T) {
	t.Parallel()
	provider := &provider{answers: []func() (tools.Result, error){applied}}
	pickySpec := keyed()
	pickySpec.Name = "picky"
	b := start(t, nil, tools.New(keyed(), provider.invoke), picky{tools.New(pickySpec, provider.invoke)})
	payload := func(text string) func(*activities.Request) {
		return func(r *activities.Request) { r.Payload = json.RawMessage(text) }
	}
	for name, tc := range map[string]struct {
		tool   string
		change func(*activities.Request)
		code   intent.Code
	}{
		"no such tool":             {"payments.captures", payload(`{}`), intent.CodeUnknownTool},
		"a look-alike tool":        {"Payments.capture", payload(`{}`), intent.CodeUnknownTool},
		"a tool name of no kind":   {"payments capture", payload(`{}`), intent.CodeInvalidName},
		"no principal":             {"payments.capture", func(r *activities.Request) { r.Context.Principal = "" }, intent.CodeUnauthenticated},
		"no tenant":                {"payments.capture", func(r *activities.Request) { r.Context.Tenant = "" }, intent.CodeInvalidName},
		"no request key":           {"payments.capture", func(r *activities.Request) { r.RequestKey = "" }, intent.CodeInvalidRequestKey},
		"a reserved request key":   {"payments.capture", func(r *activities.Request) { r.RequestKey = "writ:mine" }, intent.CodeReservedRequestKey},
		"no object":                {"payments.capture", payload(`[1]`), intent.CodePayloadNotObject},
		"half a payload":           {"payments.capture", payload(`{"a":`), intent.CodeInvalidJSON},
		"a member twice":           {"payments.capture", payload(`{"a":1,"a":2}`), intent.CodeDuplicateMember},
		"too large":                {"payments.capture", payload(`{"a":"` + strings.Repeat("x", intent.MaxPayload) + `"}`), intent.CodePayloadTooLarge},
		"refused by the tool":      {"picky", payload(`{}`), intent.CodeInvalidPayload},
		"another intent's place":   {"payments.capture", nil, intent.CodeIntentIDMismatch},
		"an intent without a row ": {"", nil, intent.CodeIntentNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var in activities.Input
			switch {
			case tc.tool == "":
				in = activities.Input{IntentID: intent.IntentID("acme", "nobody")}
			case tc.change == nil:
				in = ask(tc.tool)
				in.IntentID = intent.IntentID("acme", "somebody else's")
			default:
				in = ask(tc.tool, tc.change)
			}
			p := b.authorize(t, in)
			if p.Step.Kind != activities.StepReject || p.Rejection == nil || p.Rejection.Code != tc.code || p.Rejection.Message == "" {
				t.Fatalf("%+v", p)
			}
			if e := p.Rejection.Error(); e.Code != tc.code || e.Effect != intent.NotApplied || e.TryAgain {
				t.Errorf("%+v", e)
			}
			if in.Request == nil {
				return
			}
			// Whoever persists without having been allowed to gets no further.
			if tc.code != intent.CodeUnknownTool && tc.code != intent.CodeInvalidPayload {
				if p := b.persist(t, in, activities.Progress{Decision: []byte(`{"allow":true}`)}); p.Step.Kind != activities.StepReject {
					t.Errorf("persisted: %+v", p)
				}
			}
		})
	}
	t.Cleanup(func() {
		if len(provider.asked()) != 0 {
			t.Errorf("the tool was run %d times", len(provider.asked()))
		}
	})
}

func TestARejectionLeavesNoTrace(t *testing.T) {
	t.Parallel()
	b, _ := hosting(t, keyed(), applied)
	b.commits.Take()
	if p, steps := b.drive(t, ask("payments.captures")); p.Rejection == nil || len(steps) != 1 {
		t.Errorf("%v, %+v", steps, p)
	}
	if count := b.commits.Take(); count != (pgtest.CommitCount{}) || b.rows(t) != 0 {
		t.Errorf("%+v, %d rows", count, b.rows(t))
	}
}

func TestAConflictRevealsNothingOfTheFirstRequest(t *testing.T) {
	t.Parallel()
	provider := &provider{answers: []func() (tools.Result, error){applied}}
	b := start(t, nil, tools.New(keyed(), provider.invoke), tools.New(opaque(), provider.invoke), tools.New(read(), provider.invoke))
	first := ask("payments.capture")
	b.drive(t, first)
	before, rows := b.row(t, first), b.rows(t)
	for name, in := range map[string]activities.Input{
		"another payload":   ask("payments.capture", func(r *activities.Request) { r.Payload = []byte(`{"amount":"99.00"}`) }),
		"another principal": ask("payments.capture", func(r *activities.Request) { r.Context.Principal = "mallory" }),
		"another tool":      ask("notifications.send"),
		"a read":            ask("echo"),
	} {
		p, _ := b.drive(t, in)
		if p.Rejection == nil || p.Rejection.Code != intent.CodeIdempotencyConflict || p.State != "" || p.Version != 0 || p.Traceparent != "" {
			t.Errorf("%s: %+v", name, p)
			continue
		}
		shown, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		for what, secret := range map[string]string{
			"principal": "till-7", "payload": "12.90", "key": string(before.IdempotencyKey), "state": `"completed"`,
			"first tool": "payments.capture", "intent": first.IntentID.String(), "time": before.CreatedAt.Format("2006-01-02"),
		} {
			if strings.Contains(string(shown), secret) && !(what == "first tool" && in.Request.Tool == secret) &&
				!(what == "principal" && in.Request.Context.Principal == secret) {
				t.Errorf("%s: shows the first one's %s: %s", name, what, shown)
			}
		}
		// The read is answered before the row is looked at, so persist and journal check too.
		if p := b.persist(t, in, activities.Progress{Decision: []byte(`{"allow":true}`)}); p.Rejection == nil || p.Rejection.Code != intent.CodeIdempotencyConflict {
			t.Errorf("%s: persisted: %+v", name, p)
		}
	}
	ev := outbox.Evidence{Attempt: 1, Outcome: intent.Applied, MediaType: "text/plain", Result: []byte("x")}
	p := b.journal(t, activities.JournalInput{Input: ask("echo"), Evidence: &ev, Decision: []byte(`{"allow":true}`)})
	if p.Rejection == nil || p.Rejection.Code != intent.CodeIdempotencyConflict {
		t.Errorf("a read's answer was journaled: %+v", p)
	}
	if after := b.row(t, first); after.Version != before.Version || b.rows(t) != rows || len(provider.asked()) != 1 {
		t.Errorf("the first one changed: %+v", after)
	}
}

func TestTheSamePayloadInAnotherSpellingIsTheSameRequest(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, keyed(), applied)
	for _, payload := range []string{`{"a":1,"b":"<"}`, `{"b":"\u003c","a":1.0}`, "\n{ \"a\" : 1e0, \"b\":\"<\" }"} {
		p, _ := b.drive(t, ask("payments.capture", func(r *activities.Request) { r.Payload = json.RawMessage(payload) }))
		if p.State != intent.Completed {
			t.Errorf("%s: %+v", payload, p)
		}
	}
	if len(provider.asked()) != 1 {
		t.Errorf("asked %d times", len(provider.asked()))
	}
}

func TestADenialIsRecordedWithAReceiptAndSendsNothing(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		policy policyFunc
		code   intent.Code
	}{
		"denied":              {func() (policy.Verdict, error) { return policy.Verdict{Reason: "not on Sundays"}, nil }, intent.CodePolicyDenied},
		"a policy that fails": {func() (policy.Verdict, error) { return policy.Verdict{Allow: true}, errors.New("no answer") }, intent.CodeGateError},
	} {
		for _, spec := range []tools.Spec{keyed(), read()} {
			t.Run(fmt.Sprintf("%s, %s", name, spec.Name), func(t *testing.T) {
				t.Parallel()
				provider := &provider{answers: []func() (tools.Result, error){applied}}
				b := start(t, tc.policy, tools.New(spec, provider.invoke))
				in := ask(spec.Name)
				b.commits.Take()
				p, steps := b.drive(t, in)
				if p.State != intent.Refused || !slices.Equal(steps, []string{"persist", "stop"}) {
					t.Fatalf("%v, %+v", steps, p)
				}
				if count := b.commits.Take(); count != (pgtest.CommitCount{Flushed: 1}) {
					t.Errorf("%+v", count)
				}
				r := b.receipt(t, in)
				var d policy.Decision
				if err := json.Unmarshal(r.Decision, &d); err != nil || d.Allow || d.Code != tc.code {
					t.Errorf("decision %s, %v", r.Decision, err)
				}
				if r.State != intent.Refused || r.Outcome != intent.NotApplied || r.Reason != intent.ReasonRefused || len(r.Attempts) != 0 || len(provider.asked()) != 0 {
					t.Errorf("%+v, asked %d times", r, len(provider.asked()))
				}
			})
		}
	}
}

func TestAnIntentWhoseToolChangedBeforeItWasSentIsRefused(t *testing.T) {
	t.Parallel()
	for name, throughInvoke := range map[string]bool{"seen when it is authorized again": false, "seen by the claim": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, provider := hosting(t, keyed(), applied)
			in := ask("payments.capture")
			p := b.recorded(t, in)
			changed := keyed()
			changed.Timeout *= 2
			newer := b.worker(t, nil, tools.New(changed, provider.invoke))
			if throughInvoke {
				out := newer.invoke(t, p, in)
				if out.Evidence != nil || out.Progress.Step.Kind != activities.StepPersist {
					t.Fatalf("%+v", out)
				}
				p = newer.persist(t, in, out.Progress)
			} else {
				p, _ = newer.drive(t, activities.Input{IntentID: in.IntentID})
			}
			r := b.receipt(t, in)
			if p.State != intent.Refused || len(provider.asked()) != 0 || !strings.Contains(string(r.Decision), string(intent.CodeSpecDiverged)) {
				t.Errorf("%s, asked %d times, receipt %+v", p.State, len(provider.asked()), r)
			}
			if r.SpecDigest != keyed().Digest() {
				t.Error("the receipt names another behaviour than the authorized one")
			}
		})
	}
}

func TestAnIntentWaitsForAWorkerThatHostsItsTool(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, keyed(), answering(tools.NotApplied(errors.New("503"))), applied)
	in := ask("payments.capture")
	p := b.recorded(t, in)
	other := b.worker(t, nil, tools.New(read(), provider.invoke))
	// An activity error, which Temporal retries with a backoff and maybe elsewhere, before
	// the first attempt as well as after it.
	fromRow := activities.Input{IntentID: in.IntentID}
	if _, err := other.Authorize(t.Context(), fromRow); err == nil {
		t.Error("a worker without the tool goes on")
	}
	if _, err := other.Invoke(t.Context(), invocation(p, in)); err == nil {
		t.Error("a worker without the tool invoked it")
	}
	b.invoke(t, p, in)
	b.later(t, 5*time.Second)
	if p, err := other.Authorize(t.Context(), fromRow); err == nil {
		t.Errorf("a worker without the tool goes on after an attempt: %+v", p)
	}
	if p, _ := b.drive(t, fromRow); p.State != intent.Completed {
		t.Errorf("%+v", p)
	}
}

func TestACallersTraceparentIsNeverAReasonToRefuseWork(t *testing.T) {
	t.Parallel()
	b, _ := hosting(t, keyed(), applied)
	for i, header := range []string{"", "\x00", "\xff\xfe", strings.Repeat("0", 1<<16), "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"} {
		in := ask("payments.capture", func(r *activities.Request) { r.RequestKey = intent.RequestKey(fmt.Sprintf("order-%d", i)) })
		in.Traceparent = header
		if p, _ := b.drive(t, in); p.State != intent.Completed || len(p.Traceparent) > 255 {
			t.Errorf("%.60q: %+v", header, p)
		}
	}
}
