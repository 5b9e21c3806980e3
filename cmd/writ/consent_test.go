package main

import (
	"strings"
	"testing"

	"writ"
)

func TestAConsentIsGrantedRevokedAndListedWithWhoSaidSo(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	if r := store.writ(t, "consent", "list"); r.status != 0 || r.stdout != "no consents\n" {
		t.Errorf("status %d: %q, %s", r.status, r.stdout, r.stderr)
	}
	about := []string{"marketing", "--person", "ada", "--tenant", "acme", "-o", "json"}
	var c writ.Consent
	r := store.writ(t, append([]string{"consent", "grant", "--principal", "eve", "--role", "support", "--note", "signed"}, about...)...)
	if r.document(t, &c); r.status != 0 || !c.Granted || c.Person != "ada" || c.Tenant != "acme" || c.Principal != "eve" || c.Roles[0] != "support" || c.AuthenticationSource != "direct" {
		t.Errorf("status %d, %+v, %s", r.status, c, r.stderr)
	}
	var f failure
	r = store.writ(t, append([]string{"consent", "grant", "--principal", "agent-7", "--on-behalf-of", "ada"}, about...)...)
	if r.document(t, &f); r.status != 3 || f.Error.Code != "delegated_consent" || f.Error.Effect != "not_applied" {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
	if r = store.writ(t, append([]string{"consent", "revoke", "--principal", "agent-7", "--on-behalf-of", "ada"}, about...)...); r.status != 0 {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
	r = store.writ(t, "consent", "list", "--person", "ada", "--purpose", "marketing")
	for _, want := range []string{"acme", "ada", "marketing", "revoked", "by agent-7 for ada at "} {
		if r.status != 0 || !strings.Contains(r.stdout, want) || strings.Contains(r.stdout, "signed") {
			t.Errorf("status %d; %q:\n%s", r.status, want, r.stdout)
		}
	}
	if r = store.writ(t, "consent", "list", "--all"); !strings.Contains(r.stdout, "granted") || !strings.Contains(r.stdout, "signed") {
		t.Errorf("%s", r.stdout)
	}
	if r = store.writ(t, "consent", "list", "--tenant", "globex"); r.stdout != "no consents\n" {
		t.Errorf("of another tenant: %s", r.stdout)
	}
}

func TestEgressIsAllowedDeniedRemovedAndListed(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	var rule writ.EgressRule
	r := store.writ(t, "egress", "allow", "contact", "--provider", "mailer", "--all-tenants", "--principal", "eve", "-o", "json")
	if r.document(t, &rule); r.status != 0 || rule.Verdict != writ.EgressAllow || rule.Tenant != "" || rule.DataClass != "contact" || rule.Provider != "mailer" || rule.Principal != "eve" {
		t.Errorf("status %d, %+v, %s", r.status, rule, r.stderr)
	}
	if r = store.writ(t, "egress", "deny", "contact", "--provider", "mailer", "--tenant", "acme"); r.status != 0 {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
	r = store.writ(t, "egress", "list", "--provider", "mailer", "--class", "contact")
	for _, want := range []string{"any ", "allow", "acme", "deny", "by eve at "} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d; it does not say %q:\n%s", r.status, want, r.stdout)
		}
	}
	if r = store.writ(t, "egress", "remove", "contact", "--provider", "mailer", "--tenant", "acme"); r.status != 0 || !strings.Contains(r.stdout, "removed") {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
	var f failure
	r = store.writ(t, "egress", "remove", "contact", "--provider", "mailer", "--tenant", "acme", "-o", "json")
	if r.document(t, &f); r.status != 2 || f.Error.Code != "egress_rule_not_found" {
		t.Errorf("removed twice: status %d, %+v", r.status, f.Error)
	}
}

func TestWhatAGateCannotGoByIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	for _, tc := range []struct {
		code string
		args []string
	}{
		{"usage", []string{"consent", "grant"}},
		{"invalid_name", []string{"consent", "grant", "marketing"}},
		{"invalid_name", []string{"consent", "grant", "mark eting", "--person", "ada"}},
		{"invalid_name", []string{"consent", "revoke", "marketing", "--person", "ada", "--tenant", ""}},
		{"system_principal", []string{"consent", "grant", "marketing", "--person", "ada", "--principal", "writ:breaker"}},
		{"usage", []string{"consent", "list", "--person", ""}},
		{"invalid_name", []string{"egress", "allow", "contact"}},
		{"invalid_name", []string{"egress", "allow", "con tact", "--provider", "mailer"}},
		{"usage", []string{"egress", "allow", "contact", "--provider", "mailer", "--tenant", ""}},
		{"usage", []string{"egress", "allow", "contact", "--provider", "mailer", "--tenant", "acme", "--all-tenants"}},
		{"invalid_note", []string{"egress", "deny", "contact", "--provider", "mailer", "--note", "a\nb"}},
	} {
		var f failure
		r := store.writ(t, append(tc.args, "-o", "json")...)
		if r.document(t, &f); f.Error.Code != tc.code {
			t.Errorf("%q: status %d, %+v", tc.args, r.status, f.Error)
		}
	}
	for _, list := range [][]string{{"consent", "list", "--all"}, {"egress", "list", "--all"}} {
		if r := store.writ(t, append(list, "-o", "json")...); r.stdout != "[]\n" {
			t.Errorf("%s", r.stdout)
		}
	}
}
