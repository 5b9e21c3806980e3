package activities

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
	"writ/receipts"
)

// Seal writes the receipt of an intent that ends, or an amendment to it; it is an
// outbox.Seal.
func Seal(ctx context.Context, tx pgx.Tx, row outbox.Row, reason string, answer *outbox.Answer) error {
	r := receipts.Receipt{
		Version: receipts.Version, IntentID: row.ID, Generation: row.Generation,
		Tenant: row.Tenant, Principal: row.Principal, RequestKey: row.RequestKey,
		Tool: row.Tool, SpecDigest: row.SpecDigest, Commitment: row.Commitment,
		KeyDigest: intent.KeyDigest(row.Salt, row.IdempotencyKey), Decision: row.Decision,
		Number: row.Amendment, Attempts: []receipts.Attempt{}, State: row.State, Outcome: intent.Happened(row.Record()), Reason: reason,
		Revocation: row.Revocation,
		CreatedAt:  row.CreatedAt, EndedAt: row.EndedAt, SuspectedDuplicateOf: row.SuspectedDuplicateOf,
	}
	asked, err := row.Context()
	if err != nil {
		return err
	}
	r.AuthenticationSource, r.Roles, r.OnBehalfOf = asked.AuthenticationSource, asked.Roles, asked.OnBehalfOf
	if r.Decisions, err = decisions(ctx, tx, row); err != nil {
		return err
	}
	for _, at := range row.Attempts {
		outcome := at.Outcome
		if outcome == "" {
			outcome = intent.Unknown
		}
		r.Attempts = append(r.Attempts, receipts.Attempt{
			Number: at.Number, Generation: at.Generation, ClaimedAt: at.ClaimedAt,
			Outcome: outcome, EvidenceAt: at.EvidenceAt, Code: at.Code, EffectID: at.EffectID,
		})
	}
	for _, l := range row.Lookups {
		r.Lookups = append(r.Lookups, receipts.Lookup{
			Number: l.Number, Generation: l.Generation, AskedAt: l.AskedAt, Finding: l.Finding, Code: l.Code,
			EffectID: l.EffectID, Effects: l.Effects,
		})
	}
	if row.Amendment > 0 {
		if err := amends(ctx, tx, &r); err != nil {
			return err
		}
		r.AmendedAt = row.ReadAt
	}
	if answer != nil {
		r.ResultDigest, r.MediaType, r.ResultSize = &answer.Digest, answer.MediaType, answer.Size
		if answer.Kept < answer.Size {
			r.ResultKept = &answer.Kept
		}
	}
	return receipts.Append(ctx, tx, r)
}

// amends gives an amendment what the receipt that it belongs to is bound to: the row may have
// gone on to another generation, with another key.
func amends(ctx context.Context, tx pgx.Tx, r *receipts.Receipt) error {
	body, err := receipts.Final(ctx, tx, r.IntentID, r.Generation)
	if err != nil {
		return err
	}
	original, err := receipts.Parse(body)
	if err != nil {
		return err
	}
	r.Commitment, r.KeyDigest, r.Decision, r.EndedAt = original.Commitment, original.KeyDigest, original.Decision, original.EndedAt
	return nil
}

// decisions returns what people decided about the intent.
func decisions(ctx context.Context, tx pgx.Tx, row outbox.Row) ([]receipts.Decision, error) {
	recorded, err := outbox.Decisions(ctx, tx, row.ID)
	if err != nil {
		return nil, err
	}
	var list []receipts.Decision
	for _, d := range recorded {
		list = append(list, receipts.Decision{
			Kind: d.Kind, Principal: d.Principal, Note: d.Note,
			Roles: d.Roles, OnBehalfOf: d.OnBehalfOf, AuthenticationSource: d.AuthenticationSource,
			Commitment: d.Commitment, DecidedAt: d.DecidedAt,
		})
	}
	return list, nil
}
