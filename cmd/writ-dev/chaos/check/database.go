package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ReadDatabase reads the rows, in one snapshot.
func ReadDatabase(ctx context.Context, connection *pgx.Conn, e *Evidence) error {
	tx, err := connection.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	defer tx.Rollback(ctx)
	for _, read := range []func(context.Context, pgx.Tx) error{
		e.readIntents, e.readAttempts, e.readDecisions, e.readLookups, e.readReceipts, e.readDocuments,
	} {
		if err := read(ctx, tx); err != nil {
			return fmt.Errorf("read the database: %w", err)
		}
	}
	return nil
}

func (e *Evidence) readIntents(ctx context.Context, tx pgx.Tx) (err error) {
	const query = `
		SELECT id::text, request_key, tool, class, state, generation, idempotency_key, traceparent, created_at,
			due_at IS NOT NULL, coalesce(alert, ''), CASE WHEN confirm_by IS NULL THEN 0 ELSE approvers END, encode(commitment, 'hex')
		FROM intents`
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return err
	}
	e.Intents, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Intent])
	return err
}

func (e *Evidence) readAttempts(ctx context.Context, tx pgx.Tx) (err error) {
	rows, err := tx.Query(ctx, `SELECT intent_id::text, number, claimed_at, coalesce(outcome, '') FROM attempts`)
	if err != nil {
		return err
	}
	e.Attempts, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Attempt])
	return err
}

func (e *Evidence) readDecisions(ctx context.Context, tx pgx.Tx) (err error) {
	rows, err := tx.Query(ctx, `SELECT intent_id::text, kind, principal, encode(commitment, 'hex'), decided_at FROM decisions`)
	if err != nil {
		return err
	}
	e.Decisions, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Decision])
	return err
}

func (e *Evidence) readLookups(ctx context.Context, tx pgx.Tx) (err error) {
	rows, err := tx.Query(ctx, `SELECT intent_id::text, coalesce(finding, '') FROM lookups`)
	if err != nil {
		return err
	}
	e.Lookups, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Lookup])
	return err
}

func (e *Evidence) readReceipts(ctx context.Context, tx pgx.Tx) (err error) {
	rows, err := tx.Query(ctx, `SELECT intent_id::text, generation, number, body, created_at FROM receipts`)
	if err != nil {
		return err
	}
	e.Receipts, err = pgx.CollectRows(rows, scanReceipt)
	return err
}

func scanReceipt(row pgx.CollectableRow) (r Receipt, err error) {
	var body []byte
	if err := row.Scan(&r.IntentID, &r.Generation, &r.Number, &body, &r.CreatedAt); err != nil {
		return r, err
	}
	var says struct {
		Intent  string `json:"intent_id"`
		State   string `json:"state"`
		Outcome string `json:"outcome"`
	}
	if err := json.Unmarshal(body, &says); err != nil {
		return r, fmt.Errorf("receipt of intent %s: %w", r.IntentID, err)
	}
	digest := sha256.Sum256(body)
	r.Digest = hex.EncodeToString(digest[:])
	r.SaysIntent, r.SaysState, r.SaysOutcome = says.Intent, says.State, says.Outcome
	return r, nil
}

func (e *Evidence) readDocuments(ctx context.Context, tx pgx.Tx) (err error) {
	rows, err := tx.Query(ctx, `SELECT id FROM documents`)
	if err != nil {
		return err
	}
	e.Documents, err = pgx.CollectRows(rows, pgx.RowTo[string])
	return err
}

// ReadReceiptDigests returns the digests of all receipts that are there now.
func ReadReceiptDigests(ctx context.Context, connection *pgx.Conn) (map[ReceiptID]string, error) {
	rows, err := connection.Query(ctx, `SELECT intent_id::text, generation, number, encode(sha256(body), 'hex') FROM receipts`)
	if err != nil {
		return nil, fmt.Errorf("read the receipts: %w", err)
	}
	digests := map[ReceiptID]string{}
	var id ReceiptID
	var digest string
	_, err = pgx.ForEachRow(rows, []any{&id.IntentID, &id.Generation, &id.Number, &digest}, func() error {
		digests[id] = digest
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the receipts: %w", err)
	}
	return digests, nil
}
