package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// ConsentSubject is what a consent is about.
type ConsentSubject struct {
	Tenant string
	// Person is whom it concerns: a principal of the tenant.
	Person  string
	Purpose string
}

// Consent is what was said of a subject.
type Consent struct {
	ConsentSubject
	// Granted is false if the consent was revoked.
	Granted bool
	Said
}

// SetConsent says, in one flushed commit, that the consent is granted, or that it is not. What was
// said before stays on record, and counts no more.
func (s *Store) SetConsent(ctx context.Context, on ConsentSubject, granted bool, by Decider) (Consent, error) {
	const insert = `
		INSERT INTO consents (tenant, person, purpose, number, granted, ` + deciderColumns + `, changed_at)
		SELECT $1, $2, $3, 1 + coalesce((SELECT max(number) FROM consents WHERE tenant = $1 AND person = $2 AND purpose = $3), 0),
			$4, $5, $6, $7, $8, $9, writ_now()
		RETURNING changed_at`
	c := Consent{ConsentSubject: on, Granted: granted, Said: Said{By: by}}
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		if err := inTurn(ctx, tx, "consents", on.Tenant, on.Person, on.Purpose); err != nil {
			return err
		}
		return tx.QueryRow(ctx, insert, append([]any{on.Tenant, on.Person, on.Purpose, granted}, by.values()...)...).Scan(&c.ChangedAt)
	})
	c.ChangedAt = c.ChangedAt.UTC()
	return c, err
}

// Consents returns what was said last of every subject that the filter names, whose empty members name
// any; with all everything that was ever said. Ordered by subject, the newest first, and at most 1,000.
func (s *Store) Consents(ctx context.Context, of ConsentSubject, all bool) ([]Consent, error) {
	const query = `
		SELECT tenant, person, purpose, granted, ` + saidColumns + ` FROM consents c
		WHERE ($1 = '' OR tenant = $1) AND ($2 = '' OR person = $2) AND ($3 = '' OR purpose = $3)
			AND ($4 OR number = (SELECT max(number) FROM consents WHERE (tenant, person, purpose) = (c.tenant, c.person, c.purpose)))
		ORDER BY tenant, person, purpose, number DESC LIMIT $5`
	rows, err := s.pool.Query(ctx, query, of.Tenant, of.Person, of.Purpose, all, maxSaid)
	if err != nil {
		return nil, DatabaseError(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Consent, error) {
		var c Consent
		err := row.Scan(append([]any{&c.Tenant, &c.Person, &c.Purpose, &c.Granted}, c.columns()...)...)
		c.ChangedAt = c.ChangedAt.UTC()
		return c, err
	})
	return list, DatabaseError(err)
}

// NoConsent is a consent that there is not.
type NoConsent struct {
	Person, Purpose string
	// RevokedAt is zero if nobody ever said anything of it.
	RevokedAt time.Time
}

// missingConsents looks each subject up in the primary key, from its last number on.
const missingConsents = `
	SELECT p.person, u.purpose, c.changed_at
	FROM unnest($2::text[]) WITH ORDINALITY p (person, place), unnest($3::text[]) u (purpose)
	LEFT JOIN LATERAL (
		SELECT granted, changed_at FROM consents WHERE tenant = $1 AND person = p.person AND purpose = u.purpose ORDER BY number DESC LIMIT 1
	) c ON true
	WHERE c.granted IS NOT TRUE
	ORDER BY c.changed_at IS NULL, p.place, u.purpose`

// MissingConsents returns which of the purposes which of the persons have not consented to, by now
// or ever: first what was revoked, and then what nobody said anything of.
func (s *Store) MissingConsents(ctx context.Context, tenant string, persons, purposes []string) ([]NoConsent, error) {
	rows, err := s.pool.Query(ctx, missingConsents, tenant, persons, purposes)
	if err != nil {
		return nil, DatabaseError(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (NoConsent, error) {
		var m NoConsent
		var revoked *time.Time
		err := row.Scan(&m.Person, &m.Purpose, &revoked)
		m.RevokedAt = value(revoked).UTC()
		return m, err
	})
	return list, DatabaseError(err)
}
