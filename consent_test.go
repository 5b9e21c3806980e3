package writ

import (
	"strings"
	"testing"

	"writ/intent"
)

func TestWhatGatesGoByIsRecordedWithWhoSaidItAndRefusedForNames(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	ada := ConsentSubject{Tenant: "acme", Person: "ada", Purpose: "marketing"}
	agent := Decider{Principal: "agent-7", OnBehalfOf: []string{"assistant", "ada"}, Roles: []string{"mailer", "clerk"}, Note: "asked by phone"}
	granted, err := e.GrantConsent(t.Context(), ada, Decider{Principal: "ada"})
	if err != nil || !granted.Granted || granted.ConsentSubject != ada || granted.Principal != "ada" || granted.AuthenticationSource != intent.AuthenticatedDirect {
		t.Errorf("%+v, %v", granted, err)
	}
	revoked, err := e.RevokeConsent(t.Context(), ada, agent)
	if err != nil || revoked.Granted || strings.Join(revoked.Roles, " ") != "clerk mailer" || strings.Join(revoked.OnBehalfOf, " ") != "assistant ada" || revoked.Note != agent.Note {
		t.Errorf("%+v, %v", revoked, err)
	}
	contact := EgressSubject{DataClass: "contact", Provider: "mailer"}
	if rule, err := e.AllowEgress(t.Context(), contact, agent); err != nil || rule.Verdict != EgressAllow || rule.EgressSubject != contact || rule.Principal != "agent-7" {
		t.Errorf("%+v, %v", rule, err)
	}
	if rule, err := e.DenyEgress(t.Context(), contact, agent); err != nil || rule.Verdict != EgressDeny {
		t.Errorf("%+v, %v", rule, err)
	}
	if rule, err := e.RemoveEgress(t.Context(), contact, agent); err != nil || rule.Verdict != EgressRemoved {
		t.Errorf("%+v, %v", rule, err)
	}

	for code, err := range map[intent.Code]error{
		intent.CodeDelegatedConsent:   second(e.GrantConsent(t.Context(), ada, agent)),
		intent.CodeInvalidName:        second(e.GrantConsent(t.Context(), ConsentSubject{Tenant: "acme", Person: "a da", Purpose: "marketing"}, agent)),
		intent.CodeUnauthenticated:    second(e.RevokeConsent(t.Context(), ada, Decider{})),
		intent.CodeSystemPrincipal:    second(e.AllowEgress(t.Context(), contact, Decider{Principal: "writ:breaker"})),
		intent.CodeInvalidRequest:     second(e.AllowEgress(t.Context(), contact, Decider{Principal: "ada", AuthenticationSource: "mtls"})),
		intent.CodeInvalidNote:        second(e.DenyEgress(t.Context(), contact, Decider{Principal: "ada", Note: "a\nb"})),
		intent.CodeEgressRuleNotFound: second(e.RemoveEgress(t.Context(), contact, agent)),
	} {
		if intent.CodeOf(err) != code {
			t.Errorf("%v, want %s", err, code)
		}
	}
	const none = "\xff" // which PostgreSQL takes for no text
	for what, err := range map[string]error{
		"tenant of consents": second(e.Consents(t.Context(), ConsentSubject{Tenant: none}, true)),
		"person":             second(e.Consents(t.Context(), ConsentSubject{Person: none}, true)),
		"purpose":            second(e.Consents(t.Context(), ConsentSubject{Purpose: none}, false)),
		"tenant of rules":    second(e.EgressRules(t.Context(), EgressSubject{Tenant: none}, true)),
		"data class":         second(e.EgressRules(t.Context(), EgressSubject{DataClass: none}, true)),
		"provider":           second(e.EgressRules(t.Context(), EgressSubject{Provider: none}, false)),
		"tenant of budgets":  second(e.Budgets(t.Context(), none, true)),
	} {
		if intent.CodeOf(err) != intent.CodeInvalidName {
			t.Errorf("%s: %v", what, err)
		}
	}
	consents, err := e.Consents(t.Context(), ConsentSubject{}, true)
	if err != nil || len(consents) != 2 {
		t.Errorf("%+v, %v", consents, err)
	}
	rules, err := e.EgressRules(t.Context(), EgressSubject{}, true)
	if err != nil || len(rules) != 3 {
		t.Errorf("%+v, %v", rules, err)
	}
}

func second[T any](_ T, err error) error { return err }
