package intent_test

import (
	"testing"

	"github.com/google/uuid"

	"writ/intent"
)

func TestOnlyTheSameActionUnderTheSameKeyHasTheSameGuardDigest(t *testing.T) {
	t.Parallel()
	action := intent.Action{Tenant: "acme", Principal: "till-7", Tool: "payments.capture", Payload: []byte(`{"amount":"12.90"}`)}
	first := intent.GuardDigest(guardKey, action)
	if again := intent.GuardDigest(guardKey, action); again != first {
		t.Error("the same action has two digests")
	}
	if other := intent.GuardDigest(intent.GuardKey{1}, action); other == first {
		t.Error("under another key the digest is the same")
	}
	for what, change := range map[string]func(a *intent.Action){
		"tenant":    func(a *intent.Action) { a.Tenant = "globex" },
		"principal": func(a *intent.Action) { a.Principal = "till-8" },
		"tool":      func(a *intent.Action) { a.Tool = "payments.refund" },
		"payload":   func(a *intent.Action) { a.Payload = []byte(`{"amount":"12.91"}`) },
	} {
		other := action
		if change(&other); intent.GuardDigest(guardKey, other) == first {
			t.Errorf("another %s has the same digest", what)
		}
	}
}

func TestAMintedKeyIsToldFromACallersOwn(t *testing.T) {
	t.Parallel()
	minted := intent.MintedRequestKey(uuid.UUID{6: 0x40, 8: 0x80})
	if !minted.Minted() {
		t.Errorf("%s is taken for a caller's own", minted)
	}
	for _, own := range []intent.RequestKey{"", "order-4711", minted + "x", "Writ:auto:" + minted[10:], "writ:auto:order-4711"} {
		if own.Minted() {
			t.Errorf("%q is taken for a minted one", own)
		}
	}
}
