package outbox_test

import (
	"fmt"
	"reflect"
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

var marketing = outbox.ConsentSubject{Tenant: "acme", Person: "ada", Purpose: "marketing"}

func (b bundle) consent(t *testing.T, on outbox.ConsentSubject, granted bool) {
	t.Helper()
	if _, err := b.SetConsent(t.Context(), on, granted, eve); err != nil {
		t.Fatal(err)
	}
}

func (b bundle) missing(t *testing.T, tenant string, persons, purposes []string) []outbox.NoConsent {
	t.Helper()
	list, err := b.MissingConsents(t.Context(), tenant, persons, purposes)
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestTheLastWordOfAConsentCountsAndEveryWordIsKept(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	unsaid := []outbox.NoConsent{{Person: "ada", Purpose: "marketing"}}
	if got := b.missing(t, "acme", []string{"ada"}, []string{"marketing"}); !reflect.DeepEqual(got, unsaid) {
		t.Errorf("nobody has said anything, and %+v", got)
	}
	b.consent(t, marketing, true)
	if got := b.missing(t, "acme", []string{"ada"}, []string{"marketing"}); len(got) != 0 {
		t.Errorf("granted: %+v", got)
	}
	for _, other := range []struct{ tenant, person, purpose string }{
		{"globex", "ada", "marketing"}, {"acme", "bob", "marketing"}, {"acme", "ada", "profiling"},
	} {
		if got := b.missing(t, other.tenant, []string{other.person}, []string{other.purpose}); len(got) != 1 {
			t.Errorf("%+v: %+v", other, got)
		}
	}
	b.setClock(t, noon.Add(time.Hour))
	b.consent(t, marketing, false)
	revoked := outbox.NoConsent{Person: "ada", Purpose: "marketing", RevokedAt: noon.Add(time.Hour)}
	want := []outbox.NoConsent{revoked, {Person: "bob", Purpose: "marketing"}, {Person: "bob", Purpose: "profiling"}, {Person: "ada", Purpose: "profiling"}}
	if got := b.missing(t, "acme", []string{"bob", "ada"}, []string{"marketing", "profiling"}); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}

	last, err := b.Consents(t.Context(), outbox.ConsentSubject{Person: "ada"}, false)
	if err != nil || len(last) != 1 || last[0].Granted || last[0].ConsentSubject != marketing || last[0].By.Principal != eve.Principal || !last[0].ChangedAt.Equal(noon.Add(time.Hour)) {
		t.Errorf("%+v, %v", last, err)
	}
	all, err := b.Consents(t.Context(), outbox.ConsentSubject{}, true)
	if err != nil || len(all) != 2 || all[0].Granted || !all[1].Granted || !all[1].ChangedAt.Equal(noon) {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := b.SetEgress(t.Context(), contact, outbox.EgressAllow, eve); err != nil {
		t.Fatal(err)
	}
	for _, statement := range []string{`UPDATE consents SET granted = true`, `DELETE FROM consents`, `TRUNCATE consents`, `UPDATE egress_rules SET allowed = true`, `TRUNCATE egress_rules`} {
		if _, err := b.pool.Exec(t.Context(), statement); err == nil {
			t.Errorf("%s was done", statement)
		}
	}
}

func TestWordsThatComeAtOnceFollowEachOther(t *testing.T) {
	t.Parallel()
	b := start(t)
	var all sync.WaitGroup
	for i := range 16 {
		all.Go(func() {
			if _, err := b.SetConsent(t.Context(), marketing, i%2 == 0, eve); err != nil {
				t.Error(err)
			}
			if _, err := b.SetEgress(t.Context(), contact, outbox.EgressAllow, eve); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, table := range []string{"consents", "egress_rules"} {
		if got := query[string](t, b, fmt.Sprintf(`SELECT count(*) || ' ' || max(number) FROM %s`, table)); got != "16 16" {
			t.Errorf("%s: %s", table, got)
		}
	}
}

var contact = outbox.EgressSubject{Tenant: "acme", DataClass: "contact", Provider: "mailer"}

func TestATenantsOwnRuleComesBeforeTheGeneralOneAndWithoutAnyNothingLeaves(t *testing.T) {
	t.Parallel()
	b := start(t)
	general := contact
	general.Tenant = ""
	set := func(on outbox.EgressSubject, verdict outbox.EgressVerdict) {
		t.Helper()
		if _, err := b.SetEgress(t.Context(), on, verdict, eve); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(tenant string, want ...outbox.NoEgress) {
		t.Helper()
		got, err := b.MissingEgress(t.Context(), tenant, "mailer", []string{"contact"})
		if err != nil || len(got) != len(want) || len(want) > 0 && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v; want %+v", tenant, got, err, want)
		}
	}
	unsaid, denied := outbox.NoEgress{DataClass: "contact"}, outbox.NoEgress{DataClass: "contact", Denied: true}
	expect("acme", unsaid)
	set(general, outbox.EgressAllow)
	expect("acme")
	expect("globex")
	set(contact, outbox.EgressDeny)
	expect("acme", denied)
	expect("globex")
	set(general, outbox.EgressDeny)
	set(contact, outbox.EgressAllow)
	expect("acme")
	expect("globex", denied)
	set(contact, outbox.EgressRemoved)
	expect("acme", denied)
	set(general, outbox.EgressRemoved)
	expect("acme", unsaid)
	if got, err := b.MissingEgress(t.Context(), "acme", "printer", []string{"contact", "health"}); err != nil || len(got) != 2 {
		t.Errorf("to another provider: %+v, %v", got, err)
	}

	if _, err := b.SetEgress(t.Context(), contact, outbox.EgressRemoved, eve); intent.CodeOf(err) != intent.CodeEgressRuleNotFound {
		t.Errorf("taken back twice: %v", err)
	}
	if list, err := b.EgressRules(t.Context(), outbox.EgressSubject{}, false); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
	all, err := b.EgressRules(t.Context(), outbox.EgressSubject{Tenant: "acme"}, true)
	if err != nil || len(all) != 3 || all[0].Verdict != outbox.EgressRemoved || all[1].Verdict != outbox.EgressAllow || all[2].Verdict != outbox.EgressDeny || all[2].By.Principal != eve.Principal {
		t.Errorf("%+v, %v", all, err)
	}
}
