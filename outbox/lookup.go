package outbox

import (
	"context"
	"slices"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// LookupRequest asks for the leave to ask the provider.
type LookupRequest struct {
	ID intent.ID
	// Version is the version of the row that the step was decided on.
	Version int64
	// Token is random and new for every lookup. It recognizes the question when its answer
	// comes.
	Token uuid.UUID
	// Worker names the process that will ask.
	Worker string
	// Rules are those of the tool that will ask. It must continue the rules on the row, or it
	// would ask another provider, and take "not here" for "nowhere".
	Rules intent.Rules
}

// LookupGrant is the answer to a LookupRequest.
type LookupGrant struct {
	Row Row
	// Number is the lookup's; 0 if it was not granted, and the row's next step says what to do
	// instead.
	Number int
	// Diverged says that it was not granted because the tool may not ask for this intent.
	Diverged bool
	Payload  []byte
}

// BeginLookup counts a lookup before the question is asked, so that one that kills its worker
// is not asked for ever. It is granted on the version that the step was decided on, if the
// rule, asked under the row's lock, still says to ask.
func (s *Store) BeginLookup(ctx context.Context, req LookupRequest) (LookupGrant, error) {
	var grant LookupGrant
	// A lookup has no effect: if PostgreSQL forgets it in a crash, it is asked once more.
	err := s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		row, err := lockRow(ctx, tx, req.ID)
		if err != nil {
			return err
		}
		grant = LookupGrant{Row: row, Diverged: !req.Rules.Continues(row.Rules)}
		if grant.Diverged || row.Version != req.Version || row.Next().Kind != intent.Reconcile {
			return nil
		}
		const statement = `
			INSERT INTO lookups (intent_id, number, generation, attempts, token, worker, asked_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`
		number := len(row.Lookups) + 1
		if _, err := tx.Exec(ctx, statement, row.ID[:], number, row.Generation, len(row.Attempts), req.Token, req.Worker, row.ReadAt); err != nil {
			return err
		}
		if row, err = load(ctx, tx, req.ID); err != nil {
			return err
		}
		const asking = `UPDATE intents SET version = version + 1, due_at = $2::timestamptz + $3::interval WHERE id = $1 RETURNING version`
		lease := row.ReadAt.Add(row.Rules.Timeout)
		if err := tx.QueryRow(ctx, asking, row.ID[:], lease, progressGrace).Scan(&row.Version); err != nil {
			return err
		}
		grant.Row, grant.Number = row, number
		grant.Payload, err = payload(ctx, tx, req.ID)
		return err
	})
	if err != nil {
		return LookupGrant{}, err
	}
	return grant, nil
}

// Found is what a lookup showed.
type Found struct {
	// Token is the one of the LookupRequest.
	Token   uuid.UUID
	Finding intent.Finding
	// Code, Message and RetryAfterMS say why it is unclear.
	Code, Message string
	RetryAfterMS  int64
	// EffectID and Effects are those of intent.Lookup.
	EffectID string
	Effects  int
	// MediaType, Result and ResultRef are the answer, as those of Evidence.
	MediaType string
	Result    []byte
	ResultRef *ResultRef
}

// RecordLookup writes what a lookup showed, whatever state the intent is in, and returns the
// row. It is written once; a second answer to the same lookup is dropped. What speaks against
// the end of an intent amends its receipt, as for RecordEvidence.
func (s *Store) RecordLookup(ctx context.Context, id intent.ID, found Found, seal Seal) (Row, error) {
	var row Row
	err := s.within(ctx, beginRelaxed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, id); err != nil {
			return err
		}
		i := slices.IndexFunc(row.Lookups, func(l Lookup) bool { return l.Token == found.Token })
		if i < 0 || row.Lookups[i].Finding != "" {
			return nil
		}
		ev := Evidence{MediaType: found.MediaType, Result: found.Result, ResultRef: found.ResultRef}
		inline, digest, err := storeResult(ctx, tx, row, ev)
		if err != nil {
			return err
		}
		const statement = `
			UPDATE lookups
			SET finding = $3, answered_at = writ_now(), code = $4, message = $5, retry_after_ms = $6, effect_id = nullif($7, ''),
				effects = $8, media_type = $9, result = $10, result_digest = $11
			WHERE intent_id = $1 AND number = $2`
		_, err = tx.Exec(ctx, statement, id[:], row.Lookups[i].Number, string(found.Finding), found.Code, found.Message, found.RetryAfterMS,
			found.EffectID, found.Effects, ev.mediaType(), inline, digest)
		if err != nil {
			return err
		}
		row, err = learnt(ctx, tx, row, seal)
		return err
	})
	return row, err
}
