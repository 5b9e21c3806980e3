package activities_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// inForce allows while certain policies are in force.
type inForce string

func (inForce) Name() string { return "in-force" }

func (digest inForce) Evaluate(_ context.Context, f policy.Facts) (policy.Verdict, error) {
	return policy.Verdict{Allow: f.InForce == string(digest), Digest: f.InForce}, nil
}

func TestEachDecisionIsMadeByThePoliciesThatAreInForceThen(t *testing.T) {
	t.Parallel()
	provider := &provider{answers: []func() (tools.Result, error){applied}}
	one, two := strings.Repeat("01", 32), strings.Repeat("02", 32)
	var followed []string
	follow := func(_ context.Context, digest string) error { followed = append(followed, digest); return nil }
	b := start(t, nil).following(t, inForce(one), follow, tools.New(keyed(), provider.invoke))
	put := func(digest string) {
		t.Helper()
		if _, err := b.store.PutPolicies(t.Context(), digest, nil, outbox.Decider{Principal: "ada"}); err != nil {
			t.Fatal(err)
		}
	}
	in := ask("payments.capture")
	if p := b.authorize(t, in); !strings.Contains(string(p.Decision), `"allow":false`) {
		t.Errorf("with none in force: %s", p.Decision)
	}
	put(one)
	p := b.authorize(t, in)
	if !strings.Contains(string(p.Decision), `"allow":true`) {
		t.Errorf("%s", p.Decision)
	}
	b.persist(t, in, p)
	put(two) // while the intent waits for its first attempt
	if p = b.authorize(t, activities.Input{IntentID: in.IntentID}); p.Step.Kind != activities.StepPersist || !strings.Contains(string(p.Decision), two) {
		t.Errorf("%+v", p)
	}
	if want := []string{"", one, two}; !slices.Equal(followed, want) {
		t.Errorf("followed %q", followed)
	}
}

func TestWhileThePoliciesInForceCannotBeReadNothingIsDecided(t *testing.T) {
	t.Parallel()
	away := intent.Errorf(intent.CodeDatabaseUnavailable, "no answer")
	b := start(t, nil).following(t, inForce(""), func(context.Context, string) error { return away }, tools.New(keyed(), (&provider{}).invoke))
	if p, err := b.Authorize(t.Context(), ask("payments.capture")); !errors.Is(err, away) {
		t.Errorf("%+v, %v", p, err)
	}
	if n := b.rows(t); n != 0 {
		t.Errorf("%d rows were written", n)
	}
}
