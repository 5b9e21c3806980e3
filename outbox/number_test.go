package outbox_test

import (
	"testing"
	"time"

	"writ/outbox"
)

// Who adds a row by hand leaves a gap. What is said after it counts all the same: the highest number is in force.
func TestWhatIsSaidAfterARowThatWasAddedByHandIsInForce(t *testing.T) {
	t.Parallel()
	b := start(t)
	who := outbox.Decider{Principal: "ada", AuthenticationSource: "direct"}
	const said = `'eve', 'direct', '{}', '{}', '', now()`
	b.exec(t, `INSERT INTO consents VALUES ('acme', 'ada', 'marketing', 7, true, `+said+`)`)
	b.exec(t, `INSERT INTO egress_rules VALUES ('mailer', 'contact', 'acme', 7, true, `+said+`)`)
	if _, err := b.SetConsent(t.Context(), outbox.ConsentSubject{Tenant: "acme", Person: "ada", Purpose: "marketing"}, false, who); err != nil {
		t.Fatal(err)
	}
	if _, err := b.SetEgress(t.Context(), outbox.EgressSubject{Tenant: "acme", DataClass: "contact", Provider: "mailer"}, outbox.EgressDeny, who); err != nil {
		t.Fatal(err)
	}
	if missing, err := b.MissingConsents(t.Context(), "acme", []string{"ada"}, []string{"marketing"}); err != nil || len(missing) != 1 || missing[0].RevokedAt.IsZero() {
		t.Errorf("revoked: %+v, %v", missing, err)
	}
	if missing, err := b.MissingEgress(t.Context(), "acme", "mailer", []string{"contact"}); err != nil || len(missing) != 1 || !missing[0].Denied {
		t.Errorf("denied: %+v, %v", missing, err)
	}

	line := outbox.BudgetSubject{Tenant: "acme", Kind: outbox.BudgetIntents, Window: time.Hour}
	set, err := b.SetBudget(t.Context(), line, "5", outbox.OverDeny, who)
	if err != nil {
		t.Fatal(err)
	}
	b.exec(t, `INSERT INTO budget_changes (budget_id, number, allowed, over, principal, note, changed_at) SELECT id, 7, 9, 'deny', 'eve', '', now() FROM budgets`)
	if set, err = b.SetBudget(t.Context(), line, "6", outbox.OverDeny, who); err != nil || set.Principal != "ada" {
		t.Errorf("%+v, %v", set, err)
	}

	row := b.awaiting(t)
	b.exec(t, `INSERT INTO decisions (intent_id, number, kind, principal, note, commitment, generation, decided_at, attempts, lookups)
		VALUES ($1, 7, 'acknowledge', 'eve', '', $2, 1, now(), 0, 0)`, row.ID[:], row.Commitment[:])
	if _, err := b.Confirm(t.Context(), row.ID, who); err != nil {
		t.Fatal(err)
	}
	list, err := b.Decisions(t.Context(), row.ID)
	if err != nil || len(list) != 2 || list[1].Number != 8 || list[1].Principal != "ada" {
		t.Errorf("%+v, %v", list, err)
	}
}
