package intent_test

import (
	"errors"
	"strings"
	"testing"

	"writ/intent"
)

func TestARequestKeyStandsForOneActionAndOneAuthority(t *testing.T) {
	t.Parallel()
	first := intent.EffectContext{
		Principal: "agent-7", Tenant: "acme", AuthenticationSource: intent.AuthenticatedDirect,
		Roles: []string{"clerk", "finance"}, OnBehalfOf: []string{"assistant", "ada"}, Service: "shop",
		SessionHash: "s-1", Process: "checkout", Run: "run-1", HostBinding: "till-7", Risk: 0.25,
	}
	action := intent.Action{Tenant: "acme", Principal: "agent-7", Tool: "payments.refund", Payload: []byte(`{"amount":"12.90"}`)}
	sealed := intent.Sealed{Salt: salt, Fingerprint: intent.Fingerprint(salt, action), Context: first.Canonical()}
	for name, c := range map[string]struct {
		change func(*intent.EffectContext)
		// differ are the members that the error names; empty: there is no error.
		differ string
	}{
		"the same":              {func(*intent.EffectContext) {}, ""},
		"no role":               {func(c *intent.EffectContext) { c.Roles = nil }, "roles"},
		"one more role":         {func(c *intent.EffectContext) { c.Roles = []string{"clerk", "finance", "root"} }, "roles"},
		"another role":          {func(c *intent.EffectContext) { c.Roles = []string{"clerk", "support"} }, "roles"},
		"for nobody":            {func(c *intent.EffectContext) { c.OnBehalfOf = nil }, "on_behalf_of"},
		"for another":           {func(c *intent.EffectContext) { c.OnBehalfOf = []string{"assistant", "bob"} }, "on_behalf_of"},
		"in another order":      {func(c *intent.EffectContext) { c.OnBehalfOf = []string{"ada", "assistant"} }, "on_behalf_of"},
		"another service":       {func(c *intent.EffectContext) { c.Service = "back-office" }, "service"},
		"no service":            {func(c *intent.EffectContext) { c.Service = "" }, "service"},
		"somebody else vouches": {func(c *intent.EffectContext) { c.AuthenticationSource = "oidc" }, "authentication_source"},
		"all at once": {func(c *intent.EffectContext) {
			c.AuthenticationSource, c.OnBehalfOf, c.Roles, c.Service = "oidc", nil, nil, ""
		}, "authentication_source, on_behalf_of, roles, service"},
		"no source, which is direct": {func(c *intent.EffectContext) { c.AuthenticationSource = "" }, ""},
		"another process, run, session, host and risk": {func(c *intent.EffectContext) {
			c.Process, c.Run, c.SessionHash, c.HostBinding, c.Risk = "retry", "run-2", "s-2", "till-8", 0.75
		}, ""},
	} {
		asked := first
		c.change(&asked)
		err := sealed.Admits("refund-1", action, asked.Canonical())
		if c.differ == "" {
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var refused *intent.Error
		if !errors.As(err, &refused) || refused.Code != intent.CodeContextMismatch || refused.Effect != intent.NotApplied || refused.TryAgain {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if !strings.Contains(refused.Message, "("+c.differ+")") {
			t.Errorf("%s: it does not name %s: %s", name, c.differ, refused.Message)
		}
		for _, value := range []string{"clerk", "finance", "root", "support", "assistant", "ada", "bob", "shop", "back-office", "oidc", "checkout", "12.90"} {
			if strings.Contains(refused.Message, value) {
				t.Errorf("%s: it tells %s: %s", name, value, refused.Message)
			}
		}
		action := action
		action.Payload = []byte(`{}`)
		if err := sealed.Admits("refund-1", action, asked.Canonical()); intent.CodeOf(err) != intent.CodeIdempotencyConflict || strings.Contains(err.Error(), "authority") {
			t.Errorf("%s, and another action: %v", name, err)
		}
	}
}

func TestNobodyLowersTheRiskOfARequestThatIsNotDecidedOn(t *testing.T) {
	t.Parallel()
	stating := func(risk float64) []byte {
		return intent.EffectContext{Principal: "agent-7", Tenant: "acme", Risk: risk}.Canonical()
	}
	for _, c := range []struct {
		sealed, asked float64
		want          intent.Code
	}{{0.5, 0.5, ""}, {0.5, 0.75, ""}, {0, 1, ""}, {0.5, 0.25, intent.CodeContextMismatch}, {0.5, 0, intent.CodeContextMismatch}} {
		if err := intent.MayReplace("refund-1", stating(c.sealed), stating(c.asked)); intent.CodeOf(err) != c.want {
			t.Errorf("%v in the place of %v: %v", c.asked, c.sealed, err)
		}
		if err := intent.SameAuthority("refund-1", stating(c.sealed), stating(c.asked)); err != nil {
			t.Errorf("%v after %v: %v", c.asked, c.sealed, err)
		}
	}
}

func TestASealedContextThatCannotBeReadAdmitsNobodyElse(t *testing.T) {
	t.Parallel()
	mine := intent.EffectContext{Principal: "agent-7", Tenant: "acme"}.Canonical()
	for sealed, want := range map[string]intent.Code{string(mine): "", "": intent.CodeContextMismatch, "[": intent.CodeContextMismatch, "[]": intent.CodeContextMismatch} {
		if err := intent.SameAuthority("refund-1", []byte(sealed), mine); intent.CodeOf(err) != want {
			t.Errorf("%q: %v, want %q", sealed, err, want)
		}
	}
}
