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

// answers is every recorded answer of an effect with the order in which they count: what an
// attempt returned, what a lookup found, what an operator said. An answer that came after the
// end is kept and changes nothing. Where the clock went back between evidence and end, the
// only answer is the one all the same.
const answers = `
	SELECT i.salt, e.media_type, coalesce(e.result, b.body) AS body, b.digest, b.size
	FROM intents i CROSS JOIN LATERAL (
		SELECT 1 AS source, number, evidence_at AS known, media_type, result, result_digest
		FROM attempts WHERE intent_id = i.id AND outcome = 'applied'
		UNION ALL
		SELECT 2, number, answered_at, media_type, result, result_digest FROM lookups WHERE intent_id = i.id AND finding = 'found'
		UNION ALL
		SELECT 3, number, decided_at, media_type, result, NULL FROM decisions WHERE intent_id = i.id AND kind = 'resolve_applied') e
	LEFT JOIN blobs b ON b.intent_id = i.id AND b.digest = e.result_digest
	WHERE i.id = $1 AND i.state NOT IN ('failed', 'refused', 'cancelled')
	ORDER BY i.ended_at IS NOT NULL AND e.known > i.ended_at, e.source, e.number LIMIT 1`

// Result returns the recorded answer of the intent's effect, the one that its receipt is
// sealed over, with the bytes that are kept of it; nil if there is none.
func (s *Store) Result(ctx context.Context, id intent.ID) (*Answer, []byte, error) {
	var salt, body, digest []byte
	var mediaType *string
	var size *int64
	err := s.pool.QueryRow(ctx, answers, id[:]).Scan(&salt, &mediaType, &body, &digest, &size)
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
	const query = `
		SELECT media_type, CASE WHEN digest IS NULL THEN body END, digest, size, length(body) FROM (` + answers + `) a`
	var mediaType *string
	var body, digest []byte
	var size, kept *int64
	err := tx.QueryRow(ctx, query, row.ID[:]).Scan(&mediaType, &body, &digest, &size, &kept)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && mediaType == nil {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	if digest != nil {
		return &Answer{MediaType: *mediaType, Digest: intent.Digest(digest), Size: *size, Kept: *kept}, nil
	}
	return &Answer{
		MediaType: *mediaType, Digest: intent.ResultDigest(row.Salt, *mediaType, body), Size: int64(len(body)), Kept: int64(len(body)),
	}, nil
}
