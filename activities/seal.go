package activities

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
	"writ/receipts"
)

// seal writes the receipt of an intent that ends; it is an outbox.Seal.
func (a *Activities) seal(ctx context.Context, tx pgx.Tx, row outbox.Row, reason string, answer *outbox.Answer) error {
	r := receipts.Receipt{
		Version: receipts.Version, IntentID: row.ID, Generation: row.Generation,
		Tenant: row.Tenant, Principal: row.Principal, RequestKey: row.RequestKey,
		Tool: row.Tool, SpecDigest: row.SpecDigest, Commitment: row.Commitment,
		KeyDigest: intent.KeyDigest(row.Salt, row.IdempotencyKey), Decision: row.Decision,
		Attempts: []receipts.Attempt{}, State: row.State, Outcome: intent.NotApplied, Reason: reason,
		CreatedAt: row.CreatedAt, EndedAt: row.EndedAt,
	}
	for _, at := range row.Attempts {
		outcome := at.Outcome
		if outcome == "" {
			outcome = intent.Unknown
		}
		r.Attempts = append(r.Attempts, receipts.Attempt{
			Number: at.Number, Generation: at.Generation, ClaimedAt: at.ClaimedAt,
			Outcome: outcome, EvidenceAt: at.EvidenceAt, Code: at.Code,
		})
	}
	if _, ok := row.Applied(); ok {
		r.Outcome = intent.Applied
	}
	if answer != nil {
		r.ResultDigest, r.MediaType, r.ResultSize = &answer.Digest, answer.MediaType, answer.Size
		if answer.Kept < answer.Size {
			r.ResultKept = &answer.Kept
		}
	}
	return receipts.Append(ctx, tx, r)
}
