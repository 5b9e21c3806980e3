package outbox

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// PayloadRef stands for a payload that is stored apart from its intent's row, because it
// has more than intent.MaxInline bytes.
type PayloadRef struct {
	Digest intent.Digest `json:"digest"`
	// Size is in bytes.
	Size int64 `json:"size"`
}

// StagedPayload is a payload that was stored before its intent had a row.
type StagedPayload struct {
	Body []byte // canonical JSON
	// Salt is the one that the reference's digest was made with; the intent's row takes it
	// over.
	Salt intent.Salt
}

// StagePayload stores a payload of over intent.MaxInline bytes, in one flushed commit, so
// that the request that is sent to Temporal need only refer to it. Equal payloads of one
// intent get the same reference, whoever stages them: salt is used only for the first.
func (s *Store) StagePayload(ctx context.Context, id intent.ID, payload []byte, salt intent.Salt) (PayloadRef, error) {
	ref := PayloadRef{Size: int64(len(payload))}
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		// There is no row to lock yet. Two that stage the same payload meet here, so that
		// the second sees the first one's salt.
		if _, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock($1)`, int64(binary.BigEndian.Uint64(id[:]))); err != nil {
			return err
		}
		known, err := blobLike(ctx, tx, id, payload)
		if err != nil {
			return err
		}
		if ref.Digest = known; !known.IsZero() {
			// It is needed again, so it is not abandoned.
			_, err := tx.Exec(ctx, `UPDATE staged_payloads SET staged_at = writ_now() WHERE intent_id = $1 AND digest = $2`, id[:], known[:])
			return err
		}
		ref.Digest = intent.PayloadDigest(salt, payload)
		if err := insertBlob(ctx, tx, id, ref.Digest, salt, ref.Size, payload); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO staged_payloads (intent_id, digest, staged_at) VALUES ($1, $2, writ_now())`, id[:], ref.Digest[:])
		return err
	})
	return ref, err
}

// blobLike returns the digest of the payload among the intent's blobs, or zero.
func blobLike(ctx context.Context, tx pgx.Tx, id intent.ID, payload []byte) (intent.Digest, error) {
	rows, err := tx.Query(ctx, `SELECT digest, salt FROM blobs WHERE intent_id = $1 AND size = $2`, id[:], len(payload))
	if err != nil {
		return intent.Digest{}, err
	}
	defer rows.Close()
	for rows.Next() {
		var digest, salt []byte
		if err := rows.Scan(&digest, &salt); err != nil {
			return intent.Digest{}, err
		}
		if d := intent.PayloadDigest(intent.Salt(salt), payload); d == intent.Digest(digest) {
			return d, nil
		}
	}
	return intent.Digest{}, rows.Err()
}

// Staged returns the payload that ref stands for, after checking it against the digest. The
// error has code payload_missing if it is not there, or is another one.
func (s *Store) Staged(ctx context.Context, id intent.ID, ref PayloadRef) (StagedPayload, error) {
	var p StagedPayload
	var salt []byte
	err := s.pool.QueryRow(ctx, `SELECT body, salt FROM blobs WHERE intent_id = $1 AND digest = $2`, id[:], ref.Digest[:]).Scan(&p.Body, &salt)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return StagedPayload{}, DatabaseError(err)
	}
	copy(p.Salt[:], salt)
	if err != nil || int64(len(p.Body)) != ref.Size || intent.PayloadDigest(p.Salt, p.Body) != ref.Digest {
		return StagedPayload{}, intent.Errorf(intent.CodePayloadMissing,
			"the payload that the request refers to is not in the outbox; send the request again, with the payload")
	}
	return p, nil
}

// storePayload keeps a payload that is too large for its row and returns the digest that
// the row refers to it by, or nil for one that stands in the row.
func storePayload(ctx context.Context, tx pgx.Tx, p Proposal) (digest []byte, err error) {
	if len(p.Payload) <= intent.MaxInline {
		return nil, nil
	}
	d := intent.PayloadDigest(p.Salt, p.Payload)
	if p.Staged {
		return d[:], nil
	}
	return d[:], insertBlob(ctx, tx, p.ID(), d, p.Salt, int64(len(p.Payload)), p.Payload)
}

// settlePayload tidies up after a row was inserted, or was found to exist: a staged payload
// has its row now, and one that was stored for a row that lost the race is dropped.
func settlePayload(ctx context.Context, tx pgx.Tx, p Proposal, digest []byte, created bool) error {
	id := p.ID()
	var err error
	switch {
	case digest == nil:
	case created && p.Staged:
		_, err = tx.Exec(ctx, `DELETE FROM staged_payloads WHERE intent_id = $1 AND digest = $2`, id[:], digest)
	case !created && !p.Staged:
		// The row may be mine all the same, from a COMMIT whose answer was lost.
		_, err = tx.Exec(ctx, `
			DELETE FROM blobs WHERE intent_id = $1 AND digest = $2
				AND NOT EXISTS (SELECT FROM intents WHERE id = $1 AND payload_digest = $2)`, id[:], digest)
	}
	return err
}

// storeResult returns the answer in ev as it stands in the row of its attempt or lookup: inline,
// or, if it is too large for that, as the digest of what is stored apart.
func storeResult(ctx context.Context, tx pgx.Tx, row Row, ev Evidence) (inline, digest []byte, err error) {
	if ev.ResultRef == nil {
		return ev.Result, nil, nil
	}
	return nil, ev.ResultRef.Digest[:], insertBlob(ctx, tx, row.ID, ev.ResultRef.Digest, row.Salt, ev.ResultRef.Size, ev.Result)
}

// Unstage drops a staged payload that no row refers to.
func (s *Store) Unstage(ctx context.Context, id intent.ID, ref PayloadRef) error {
	const statement = `
		DELETE FROM blobs b USING staged_payloads s
		WHERE s.intent_id = $1 AND s.digest = $2 AND b.intent_id = s.intent_id AND b.digest = s.digest`
	return s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, statement, id[:], ref.Digest[:])
		return err
	})
}

func insertBlob(ctx context.Context, tx pgx.Tx, id intent.ID, digest intent.Digest, salt intent.Salt, size int64, body []byte) error {
	const statement = `
		INSERT INTO blobs (intent_id, digest, salt, size, body, created_at)
		VALUES ($1, $2, $3, $4, coalesce($5, ''::bytea), writ_now())
		ON CONFLICT DO NOTHING`
	_, err := tx.Exec(ctx, statement, id[:], digest[:], salt[:], size, body)
	return err
}

// abandonedAfter is how long ago a payload was staged that is dropped because no row came
// to refer to it. A request may wait as long for a worker.
const abandonedAfter = 30 * 24 * time.Hour

// DropAbandoned deletes up to limit staged payloads whose requests never became intents, and
// returns how many.
func (s *Store) DropAbandoned(ctx context.Context, limit int) (int, error) {
	const statement = `
		WITH abandoned AS (
			SELECT intent_id, digest FROM staged_payloads WHERE staged_at < writ_now() - $2::interval
			ORDER BY staged_at LIMIT $1 FOR UPDATE SKIP LOCKED)
		DELETE FROM blobs b USING abandoned a WHERE b.intent_id = a.intent_id AND b.digest = a.digest`
	var dropped int
	err := s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, statement, limit, abandonedAfter)
		dropped = int(tag.RowsAffected())
		return err
	})
	return dropped, err
}
