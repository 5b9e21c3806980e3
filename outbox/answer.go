package outbox

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Answer describes what the effect's attempt returned.
type Answer struct {
	MediaType string
	// Digest is the intent.ResultDigest of the whole answer.
	Digest intent.Digest
	// Size is the size in bytes of the whole answer, and Kept of its beginning that is stored:
	// less than Size if it was too large.
	Size, Kept int64
}

// Result returns the recorded answer of the intent's effect, the one that its receipt is
// sealed over, with the bytes that are kept of it; nil if there is none.
func (s *Store) Result(ctx context.Context, id intent.ID) (*Answer, []byte, error) {
	// An answer that came after the end is kept with its attempt and changes nothing. Where
	// the clock went back between evidence and end, the only answer is the one all the same.
	const query = `
		SELECT i.salt, a.media_type, coalesce(a.result, b.body), b.digest, b.size
		FROM attempts a JOIN intents i ON i.id = a.intent_id
		LEFT JOIN blobs b ON b.intent_id = a.intent_id AND b.digest = a.result_digest
		WHERE a.intent_id = $1 AND a.outcome = 'applied' AND i.state NOT IN ('failed', 'refused')
		ORDER BY i.ended_at IS NOT NULL AND a.evidence_at > i.ended_at, a.number LIMIT 1`
	var salt, body, digest []byte
	var mediaType *string
	var size *int64
	err := s.pool.QueryRow(ctx, query, id[:]).Scan(&salt, &mediaType, &body, &digest, &size)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && mediaType == nil {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, DatabaseError(err)
	}
	answer := &Answer{MediaType: *mediaType, Size: int64(len(body)), Kept: int64(len(body))}
	if digest != nil {
		answer.Digest, answer.Size = intent.Digest(digest), *size
	} else {
		answer.Digest = intent.ResultDigest(intent.Salt(salt), *mediaType, body)
	}
	return answer, body, nil
}

// answerOf describes the answer of the row's effect, without reading a large one; nil if
// there is none.
func answerOf(ctx context.Context, tx pgx.Tx, row Row) (*Answer, error) {
	a, ok := row.Applied()
	if !ok || a.MediaType == "" {
		return nil, nil
	}
	const query = `
		SELECT a.result, b.digest, b.size, length(b.body)
		FROM attempts a LEFT JOIN blobs b ON b.intent_id = a.intent_id AND b.digest = a.result_digest
		WHERE a.intent_id = $1 AND a.number = $2`
	var body, digest []byte
	var size, kept *int64
	if err := tx.QueryRow(ctx, query, row.ID[:], a.Number).Scan(&body, &digest, &size, &kept); err != nil {
		return nil, err
	}
	if digest != nil {
		return &Answer{MediaType: a.MediaType, Digest: intent.Digest(digest), Size: *size, Kept: *kept}, nil
	}
	return &Answer{
		MediaType: a.MediaType, Digest: intent.ResultDigest(row.Salt, a.MediaType, body), Size: int64(len(body)), Kept: int64(len(body)),
	}, nil
}
