package receipts

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Version names the form of the receipts that this package writes.
const Version = "writ/receipt/v1"

// Receipt is the end of one generation of an intent.
type Receipt struct {
	Version    string    `json:"version"`
	IntentID   intent.ID `json:"intent_id"`
	Generation int       `json:"generation"`
	// Number is 0 for the final receipt of the generation, and counts its amendments from 1.
	Number    int    `json:"number"`
	Tenant    string `json:"tenant"`
	Principal string `json:"principal"`
	// AuthenticationSource, Roles and OnBehalfOf are those of the effect context; absent from
	// receipts of earlier releases.
	AuthenticationSource string            `json:"authentication_source,omitempty"`
	Roles                []string          `json:"roles,omitempty"`
	OnBehalfOf           []string          `json:"on_behalf_of,omitempty"`
	RequestKey           intent.RequestKey `json:"request_key"`
	Tool                 string            `json:"tool"`
	SpecDigest           intent.Digest     `json:"spec_digest"`
	// Commitment is the digest of everything that was authorized.
	Commitment intent.Digest `json:"commitment"`
	// KeyDigest is the salted digest of the idempotency key.
	KeyDigest intent.Digest   `json:"key_digest"`
	Decision  json.RawMessage `json:"decision"`
	// Decisions are those of people, oldest first; absent if nobody had to decide.
	Decisions []Decision `json:"decisions,omitempty"`
	// SuspectedDuplicateOf is the earlier intent that this one seems to repeat.
	SuspectedDuplicateOf intent.ID `json:"suspected_duplicate_of,omitzero"`
	Attempts             []Attempt `json:"attempts"`
	// Lookups are the questions that the provider was asked; absent if it was not.
	Lookups []Lookup     `json:"lookups,omitempty"`
	State   intent.State `json:"state"`
	// Revocation is the policy's no that came after something was sent.
	Revocation json.RawMessage `json:"revocation,omitempty"`
	// Outcome says whether the effect happened.
	Outcome intent.Outcome `json:"outcome"`
	// Reason is the rule by which the intent ended, or what an amendment says against it.
	Reason string `json:"reason"`
	// ResultDigest is the salted digest of the recorded answer; absent if there is none.
	ResultDigest *intent.Digest `json:"result_digest,omitempty"`
	MediaType    string         `json:"media_type,omitempty"`
	// ResultSize is the answer's size in bytes, and ResultKept how many of them are stored;
	// absent if that is all of them. The digest is the one of the whole answer.
	ResultSize int64     `json:"result_size,omitempty"`
	ResultKept *int64    `json:"result_kept,omitempty"`
	CreatedAt  time.Time `json:"created_at"`
	EndedAt    time.Time `json:"ended_at"`
	// AmendedAt is when the evidence of an amendment was recorded.
	AmendedAt time.Time `json:"amended_at,omitzero"`
}

// Decision is what a person decided about the intent.
type Decision struct {
	Kind      intent.DecisionKind `json:"kind"`
	Principal string              `json:"principal"`
	Note      string              `json:"note,omitempty"`
	// AuthenticationSource says who vouches for the principal, as what it decided and for whom;
	// absent where that was not said.
	AuthenticationSource string   `json:"authentication_source,omitempty"`
	Roles                []string `json:"roles,omitempty"`
	OnBehalfOf           []string `json:"on_behalf_of,omitempty"`
	// Commitment is the one of what was decided on.
	Commitment intent.Digest `json:"commitment"`
	DecidedAt  time.Time     `json:"decided_at"`
}

// Attempt is one permission to send and what is known of it.
type Attempt struct {
	Number     int            `json:"number"`
	Generation int            `json:"generation"`
	ClaimedAt  time.Time      `json:"claimed_at"`
	Outcome    intent.Outcome `json:"outcome"`
	EvidenceAt time.Time      `json:"evidence_at,omitzero"`
	Code       string         `json:"code,omitempty"`
	// EffectID is the provider's name of the effect.
	EffectID string `json:"effect_id,omitempty"`
}

// Lookup is one question to the provider.
type Lookup struct {
	Number     int       `json:"number"`
	Generation int       `json:"generation"`
	AskedAt    time.Time `json:"asked_at"`
	// Finding is empty if there was no answer.
	Finding  intent.Finding `json:"finding,omitempty"`
	Code     string         `json:"code,omitempty"`
	EffectID string         `json:"effect_id,omitempty"`
	// Effects is how many effects the provider showed, if it counts them.
	Effects int `json:"effects,omitempty"`
}

// Canonical returns the receipt as canonical JSON: the bytes that are stored.
func (r Receipt) Canonical() ([]byte, error) {
	raw, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("receipt of intent %s: %w", r.IntentID, err)
	}
	return intent.Canonicalize(raw)
}

// Append writes the receipt in tx. There is one final receipt for each generation, and one
// amendment of each number; a second one is an error of the database.
func Append(ctx context.Context, tx pgx.Tx, r Receipt) error {
	body, err := r.Canonical()
	if err != nil {
		return err
	}
	at := r.EndedAt
	if r.Number > 0 {
		at = r.AmendedAt
	}
	_, err = tx.Exec(ctx, `INSERT INTO receipts (intent_id, generation, number, body, created_at) VALUES ($1, $2, $3, $4, $5)`,
		r.IntentID[:], r.Generation, r.Number, body, at)
	if err != nil {
		return fmt.Errorf("append receipt of intent %s: %w", r.IntentID, err)
	}
	return nil
}

// Querier is a pool, a connection or a transaction.
type Querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Get returns the bytes of the intent's newest final receipt, or an error with code
// receipt_not_found while it has not ended.
func Get(ctx context.Context, q Querier, id intent.ID) ([]byte, error) {
	const query = `
		SELECT body FROM receipts WHERE intent_id = $1 AND number = 0
		ORDER BY generation DESC LIMIT 1`
	var body []byte
	err := q.QueryRow(ctx, query, id[:]).Scan(&body)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, intent.Errorf(intent.CodeReceiptNotFound,
			"intent %s has no receipt: it does not exist or has not ended; `writ intent get` tells", id)
	}
	if err != nil {
		return nil, fmt.Errorf("read receipt of intent %s: %w", id, err)
	}
	return body, nil
}

// Final returns the bytes of the final receipt of one generation, or an error with code
// receipt_not_found.
func Final(ctx context.Context, q Querier, id intent.ID, generation int) ([]byte, error) {
	const query = `SELECT body FROM receipts WHERE intent_id = $1 AND generation = $2 AND number = 0`
	var body []byte
	err := q.QueryRow(ctx, query, id[:], generation).Scan(&body)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, intent.Errorf(intent.CodeReceiptNotFound, "generation %d of intent %s has no receipt", generation, id)
	}
	if err != nil {
		return nil, fmt.Errorf("read receipt of intent %s: %w", id, err)
	}
	return body, nil
}

// Amendments returns the bytes of what was added to the intent's receipts after their ends,
// oldest first.
func Amendments(ctx context.Context, q Querier, id intent.ID) ([][]byte, error) {
	const query = `
		SELECT coalesce(array_agg(body ORDER BY generation, number), '{}') FROM receipts WHERE intent_id = $1 AND number > 0`
	var bodies [][]byte
	if err := q.QueryRow(ctx, query, id[:]).Scan(&bodies); err != nil {
		return nil, fmt.Errorf("read amendments of intent %s: %w", id, err)
	}
	return bodies, nil
}

// Parse reads a stored receipt.
func Parse(body []byte) (Receipt, error) {
	var r Receipt
	if err := json.Unmarshal(body, &r); err != nil {
		return Receipt{}, fmt.Errorf("receipt: %w", err)
	}
	return r, nil
}
