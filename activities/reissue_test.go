package activities_test

import (
	"errors"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// reissued is an intent that failed once and was issued again by a person.
func reissued(t *testing.T, answers ...func() (tools.Result, error)) (bundle, *provider, activities.Input) {
	t.Helper()
	b, world := hosting(t, opaque(), append([]func() (tools.Result, error){answering(tools.NotApplied(errors.New("no funds")).AsFinal())}, answers...)...)
	in := ask(opaque().Name)
	if p, steps := b.drive(t, in); p.State != intent.Failed {
		t.Fatalf("%s by %v", p.State, steps)
	}
	b.later(t, time.Microsecond)
	row, err := b.store.Reissue(t.Context(), in.IntentID, outbox.Decider{Principal: "eve"}, nil, activities.Renewal)
	if err != nil || row.Generation != 2 {
		t.Fatalf("%+v, %v", row, err)
	}
	return b, world, activities.Input{IntentID: in.IntentID}
}

func TestAnIntentThatIsIssuedAgainIsSentUnderItsNewKeyAndSealedUnderItsNewCommitment(t *testing.T) {
	t.Parallel()
	b, world, in := reissued(t, applied)
	first := b.receipt(t, in)
	if p, steps := b.drive(t, in); p.State != intent.Completed {
		t.Fatalf("%s by %v", p.State, steps)
	}
	row, calls, r := b.row(t, in), world.asked(), b.receipt(t, in)
	if len(calls) != 2 || calls[1].IdempotencyKey() != string(row.IdempotencyKey) || calls[0].IdempotencyKey() == calls[1].IdempotencyKey() {
		t.Errorf("the keys that were sent are wrong: %+v", calls)
	}
	want := intent.Commitment(intent.Authorized{
		Fingerprint: row.Fingerprint, SpecDigest: row.SpecDigest, Context: row.EffectContext, Decision: row.Decision, Key: row.IdempotencyKey, Generation: 2,
	})
	if r.Generation != 2 || r.Commitment != want || r.Commitment == first.Commitment || r.KeyDigest == first.KeyDigest || len(r.Attempts) != 2 ||
		len(r.Decisions) != 1 || r.Decisions[0].Kind != intent.Reissue || r.Decisions[0].Commitment != first.Commitment {
		t.Errorf("%+v", r)
	}
}

func TestPolicyIsAskedAboutAnIntentThatIsIssuedAgain(t *testing.T) {
	t.Parallel()
	b, world, in := reissued(t, applied)
	no := policyFunc(func() (policy.Verdict, error) { return policy.Verdict{Reason: "the account was closed"}, nil })
	b = b.worker(t, no, tools.New(opaque(), world.invoke))
	p, steps := b.drive(t, in)
	if p.State != intent.Failed || len(world.asked()) != 1 {
		t.Errorf("%s by %v, sent %d times", p.State, steps, len(world.asked()))
	}
	if r := b.receipt(t, in); r.Generation != 2 || r.Reason != intent.ReasonRevoked || len(r.Revocation) == 0 {
		t.Errorf("%+v", r)
	}
}
