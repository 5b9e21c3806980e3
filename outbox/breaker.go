package outbox

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// The times of the circuit breaker.
const (
	// breakerWindow is how long a streak of failures may take, from the first of them on.
	breakerWindow = time.Minute
	// firstProbe is how long after the trip one claim tries the provider. The wait doubles with
	// each one that does, up to longestProbe.
	firstProbe   = 5 * time.Second
	longestProbe = 5 * time.Minute
)

// breakerPrincipal is who sets and lifts automatic holds.
const breakerPrincipal = intent.SystemPrincipals + "breaker"

// noteContact counts the attempts in a row that a provider did not answer, in the transaction
// that records the evidence of one. An answer writes nothing unless there is a streak to end.
func noteContact(ctx context.Context, tx pgx.Tx, row Row, ev Evidence) error {
	const failed = `
		INSERT INTO breakers (provider, failures, since) VALUES ($1, 1, writ_now())
		ON CONFLICT (provider) DO UPDATE SET
			failures = CASE WHEN breakers.failures > 0 AND breakers.since > writ_now() - $2::interval THEN breakers.failures + 1 ELSE 1 END,
			since = CASE WHEN breakers.failures > 0 AND breakers.since > writ_now() - $2::interval THEN breakers.since ELSE writ_now() END`
	const answered = `UPDATE breakers SET failures = 0 WHERE provider = $1 AND failures > 0`
	if row.Rules.Provider == "" {
		return nil
	}
	var err error
	switch ev.Contact.Given(ev.Outcome) {
	case intent.Unanswered:
		_, err = tx.Exec(ctx, failed, row.Rules.Provider, breakerWindow)
	case intent.Answered:
		_, err = tx.Exec(ctx, answered, row.Rules.Provider)
	case intent.NoContact:
	}
	return err
}

// Trip sets an automatic hold on the provider if it left that many attempts in a row unanswered
// within a minute, and reports whether it did. It uses the streak up: the next hold takes
// another one. last is the code of the last attempt.
//
// It is a transaction of its own, and not part of the one that records the evidence, because
// whoever waits for the provider's lock must hold no row that a claim may be waiting for.
func (s *Store) Trip(ctx context.Context, provider string, failures int, last string) (tripped bool, err error) {
	const streak = `SELECT EXISTS (SELECT FROM breakers WHERE provider = $1 AND failures >= $2)`
	const use = `UPDATE breakers SET failures = 0 WHERE provider = $1 AND failures >= $2`
	var long bool
	if err := s.pool.QueryRow(ctx, streak, provider, failures).Scan(&long); err != nil || !long {
		return false, DatabaseError(err)
	}
	on := Subject{HoldProvider, provider}
	note := fmt.Sprintf("%d attempts in a row were not answered within %s; the last: %s", failures, breakerWindow, last)
	// If PostgreSQL forgets it in a crash, the next streak sets it again.
	err = s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		tripped = false
		if err := lockSubject(ctx, tx, on); err != nil {
			return err
		}
		tag, err := tx.Exec(ctx, use, provider, failures)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		tripped, err = insertHold(ctx, tx, on, true, Decider{Principal: breakerPrincipal, Note: note})
		return err
	})
	return tripped && err == nil, err
}

// takeProbe lets the claim of a locked row pass an automatic hold whose time to try the
// provider has come, and puts off the next one; false: somebody else was first, or the hold
// was lifted. A prober that dies is followed by the next one.
func takeProbe(ctx context.Context, tx pgx.Tx, row Row) (bool, error) {
	const statement = `
		UPDATE holds SET probes = probes + 1, probe_at = $2::timestamptz + least($3::interval * 2 ^ least(probes + 1, 16), $4::interval)
		WHERE scope = 'provider' AND name = $1 AND automatic AND lifted_at IS NULL AND probe_at <= $2`
	tag, err := tx.Exec(ctx, statement, row.Rules.Provider, row.ReadAt, firstProbe, longestProbe)
	return tag.RowsAffected() == 1, err
}

// CloseBreaker lifts the automatic hold of a provider that answered an attempt which was claimed
// under it, and reports whether there was one. Only probes are claimed under it: an answer to an
// older attempt says nothing about now.
func (s *Store) CloseBreaker(ctx context.Context, provider string, claimed time.Time) (closed bool, err error) {
	const statement = `
		UPDATE holds SET lifted_at = writ_now(), lifted_by = $3, lift_note = 'the provider answered'
		WHERE scope = 'provider' AND name = $1 AND automatic AND lifted_at IS NULL AND set_at < $2`
	err = s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, statement, provider, claimed, breakerPrincipal)
		closed = tag.RowsAffected() > 0
		return err
	})
	return closed && err == nil, err
}
