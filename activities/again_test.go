package activities_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/policy"
	"writ/tools"
)

// moody is a policy that says what it is told to.
type moody struct {
	verdict policy.Verdict
	err     error
}

func (*moody) Name() string { return "a shop in a mood" }

func (m *moody) Evaluate(context.Context, policy.Facts) (policy.Verdict, error) {
	return m.verdict, m.err
}

// refusedBy is a worker whose policy failed when it was asked about a request.
func refusedBy(t *testing.T) (bundle, *moody, activities.Input) {
	t.Helper()
	shop := &moody{err: errors.New("no answer")}
	b := start(t, shop, tools.New(keyed(), (&provider{answers: []func() (tools.Result, error){applied}}).invoke))
	in := ask("payments.capture")
	if p, _ := b.drive(t, in); p.State != intent.Refused || p.DecidedAgain != 0 {
		t.Fatalf("%+v", p)
	}
	return b, shop, in
}

func (m *moody) says(v policy.Verdict) { m.verdict, m.err = v, nil }

func TestARefusedRequestThatComesAgainIsDecidedOnUnderThePolicyOfNow(t *testing.T) {
	t.Parallel()
	b, shop, in := refusedBy(t)
	before := b.row(t, in)

	p, steps := b.drive(t, in)
	if p.State != intent.Refused || p.DecidedAgain != 1 || len(steps) != 1 || b.row(t, in).Version != before.Version {
		t.Errorf("refused as before: %+v after %v", p, steps)
	}
	shop.says(policy.Verdict{Allow: true, Reason: "the shop said so"})
	stale := in
	stale.Refused = 7
	for name, other := range map[string]activities.Input{
		"recovery":           {IntentID: in.IntentID},
		"another generation": stale,
	} {
		if p, steps := b.drive(t, other); p.State != intent.Refused || p.DecidedAgain != 0 || len(steps) != 1 {
			t.Errorf("%s: %+v after %v", name, p, steps)
		}
	}

	// From another process it is the same request, and the context that was sealed first stands.
	in = ask("payments.capture", func(r *activities.Request) { r.Context.Process = "other" })
	in.Refused = 1
	p = b.authorize(t, in)
	if p.Step.Kind != activities.StepPersist || p.DecidedAgain != 1 || p.Version != 0 || p.State != "" {
		t.Fatalf("%+v", p)
	}
	for range 2 { // the first answer was lost
		if got := b.persist(t, in, p); got.State != intent.Recorded || got.Version != before.Version+1 || got.DecidedAgain != 1 {
			t.Errorf("%+v", got)
		}
	}
	if p, _ := b.drive(t, in); p.State != intent.Completed {
		t.Errorf("%+v", p)
	}
	r := b.receipt(t, in)
	if r.Generation != 2 || r.State != intent.Completed || r.Commitment == before.Commitment || string(b.row(t, in).EffectContext) != string(before.EffectContext) {
		t.Errorf("%+v", r)
	}
}

func TestARefusalIsWrittenAgainOnlyIfItSaysSomethingElse(t *testing.T) {
	t.Parallel()
	b, shop, in := refusedBy(t)
	for _, c := range []struct {
		name       string
		later      time.Duration
		says       policy.Verdict
		generation int
	}{
		{"another code", 0, policy.Verdict{Reason: "closed"}, 2},
		{"the same", time.Hour, policy.Verdict{Reason: "closed"}, 2},
		{"another reason, an hour later", 0, policy.Verdict{Reason: "closed till noon"}, 3},
		{"another reason, at once", 0, policy.Verdict{Reason: "closed till one"}, 3},
		{"another reason, a minute later", time.Minute, policy.Verdict{Reason: "closed till one"}, 4},
		{"the policy was changed", 0, policy.Verdict{Reason: "closed till one", Policies: []string{"hours"}}, 5},
		{"people are asked", 0, policy.Verdict{Allow: true, Approval: &policy.Approval{Approvers: 2}}, 6},
	} {
		b.later(t, c.later)
		shop.says(c.says)
		b.drive(t, in)
		if row := b.row(t, in); row.Generation != c.generation || row.State == intent.AwaitingConfirmation != c.says.Allow {
			t.Errorf("%s: generation %d, %s; want %d", c.name, row.Generation, row.State, c.generation)
		}
	}
	b.later(t, 25*time.Hour)
	if p, _ := b.drive(t, activities.Input{IntentID: in.IntentID}); p.State != intent.Refused || b.row(t, in).Generation != 6 {
		t.Fatalf("nobody confirmed it: %+v", p)
	}
	if p, _ := b.drive(t, in); p.State != intent.AwaitingConfirmation || b.row(t, in).Generation != 7 {
		t.Errorf("people are not asked again: %+v", p)
	}
}

func TestANewDecisionIsOnTheToolOfNow(t *testing.T) {
	t.Parallel()
	b, shop, in := refusedBy(t)
	shop.says(policy.Verdict{Allow: true, Reason: "the shop said so"})
	spec := keyed()
	spec.Timeout += time.Second
	b = b.worker(t, shop, tools.New(spec, (&provider{answers: []func() (tools.Result, error){applied}}).invoke))
	before := b.row(t, in)
	if p, _ := b.drive(t, in); p.State != intent.Completed {
		t.Errorf("%+v", p)
	}
	if row := b.row(t, in); row.SpecDigest == before.SpecDigest || row.Rules.Timeout != spec.Timeout || row.IdempotencyKey != before.IdempotencyKey {
		t.Errorf("%+v", row)
	}
}

func TestWhileCommitsMayBeLostNobodyIsToldAnOldRefusal(t *testing.T) {
	t.Parallel()
	b, shop, in := refusedBy(t)
	shop.says(policy.Verdict{Allow: true, Reason: "the shop said so"})
	b.exec(t, `INSERT INTO timelines (number, system_identifier, timeline, principal, note, decided_at, marked)
		SELECT number + 1, system_identifier, timeline + 1, 'nobody', 'a test', writ_now(), 0 FROM timelines ORDER BY number DESC LIMIT 1`)
	if p, err := b.Authorize(t.Context(), in); intent.CodeOf(err) != intent.CodeOutboxRestored {
		t.Errorf("%+v, %v", p, err)
	}
}

// The step that commits a new decision may be taken again long after it was.
func TestANewDecisionWhoseAnswerWasLostUntilItsWaitWasOverEnds(t *testing.T) {
	t.Parallel()
	b, shop, in := refusedBy(t)
	shop.says(policy.Verdict{Allow: true, Approval: &policy.Approval{Approvers: 1}})
	p := b.authorize(t, in)
	if got := b.persist(t, in, p); got.State != intent.AwaitingConfirmation {
		t.Fatalf("%+v", got)
	}
	b.later(t, 25*time.Hour)
	p, steps := b.driveFrom(t, in, p)
	if p.State != intent.Refused || b.row(t, in).Generation != 2 {
		t.Errorf("%+v by %v", p, steps)
	}
}
