package writ

import (
	"cmp"
	"context"
	"slices"
	"time"

	"writ/intent"
	"writ/outbox"
)

// Statement is who said something that Writ's own gates go by, or put policies in force, when and why.
type Statement struct {
	Principal string `json:"principal"`
	Note      string `json:"note,omitempty"`
	Standing
	ChangedAt time.Time `json:"changed_at"`
}

func statementOf(s outbox.Said) Statement {
	return Statement{Principal: s.By.Principal, Note: s.By.Note, Standing: standingOf(s.By), ChangedAt: s.ChangedAt}
}

// ConsentSubject is what a consent is about. In a list, empty members stand for any.
type ConsentSubject struct {
	Tenant string `json:"tenant"`
	// Person is whom it concerns: the principal that asks, or for whom one asks.
	Person string `json:"person"`
	// Purpose is what tools declare in Spec.Consents.
	Purpose string `json:"purpose"`
}

// Consent is what was said of a subject.
type Consent struct {
	ConsentSubject
	// Granted is false if the consent was revoked.
	Granted bool `json:"granted"`
	Statement
}

// GrantConsent records that the person consents. It counts from the moment at which it is committed,
// for whatever is decided on after that. The error has code delegated_consent if by acts for the
// person, and invalid_name if a name is none.
func (c *Client) GrantConsent(ctx context.Context, on ConsentSubject, by Decider) (Consent, error) {
	return c.setConsent(ctx, on, true, by)
}

// RevokeConsent records that the person does not consent, or no longer. What has not been claimed by
// then is refused as consent_required when it is; nothing is interrupted. Whoever acts for the
// person may revoke. The error has code invalid_name if a name is none.
func (c *Client) RevokeConsent(ctx context.Context, on ConsentSubject, by Decider) (Consent, error) {
	return c.setConsent(ctx, on, false, by)
}

func (c *Client) setConsent(ctx context.Context, on ConsentSubject, granted bool, by Decider) (Consent, error) {
	err := cmp.Or(intent.CheckName("tenant", on.Tenant), intent.CheckName("person", on.Person), intent.CheckName("purpose", on.Purpose), by.check())
	if err != nil {
		return Consent{}, err
	}
	if granted && slices.Contains(by.OnBehalfOf, on.Person) {
		return Consent{}, intent.Errorf(intent.CodeDelegatedConsent,
			"%s acts for %s and may not grant that one's consent; the person has to, or somebody who does not act for that person", by.Principal, on.Person)
	}
	set, err := c.store.SetConsent(ctx, outbox.ConsentSubject(on), granted, by.recorded())
	if err != nil {
		return Consent{}, undecided(ctx, outbox.Row{}, err)
	}
	return consentOf(set), nil
}

// Consents returns what was said last of every subject that of names; with all everything that was
// ever said. Ordered by tenant, person and purpose, the newest first; at most 1,000.
// The error has code invalid_name if a name is none.
func (c *Client) Consents(ctx context.Context, of ConsentSubject, all bool) ([]Consent, error) {
	if err := cmp.Or(intent.CheckOptionalName("tenant", of.Tenant), intent.CheckOptionalName("person", of.Person), intent.CheckOptionalName("purpose", of.Purpose)); err != nil {
		return nil, err
	}
	list, err := c.store.Consents(ctx, outbox.ConsentSubject(of), all)
	consents := make([]Consent, len(list))
	for i, said := range list {
		consents[i] = consentOf(said)
	}
	return consents, err
}

func consentOf(said outbox.Consent) Consent {
	return Consent{ConsentSubject: ConsentSubject(said.ConsentSubject), Granted: said.Granted, Statement: statementOf(said.Said)}
}
