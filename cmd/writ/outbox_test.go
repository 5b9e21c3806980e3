package main

import (
	"context"
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/policy"
	"writ/receipts"
	"writ/tools"
)

// records is an outbox in a schema of the test's own.
type records struct {
	*outbox.Store
	pool *pgxpool.Pool
	url  string
}

func newOutbox(t *testing.T) records {
	t.Helper()
	url := pgtest.Schema(t)
	if r := command(t, "migrate", "up", "--database-url", url); r.status != 0 {
		t.Fatalf("migrate up: status %d, %s", r.status, r.stderr)
	}
	pool, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return records{outbox.New(pool), pool, url}
}

// writ runs a command where Temporal is not there.
func (r records) writ(t *testing.T, args ...string) ran {
	t.Helper()
	return command(t, append(slices.Clip(args), "--database-url", r.url, "--temporal-address", noTemporal)...)
}

// publish records a tool as a worker does.
func (r records) publish(t *testing.T, spec tools.Spec) {
	t.Helper()
	raw, err := json.Marshal(spec.Publish())
	if err != nil {
		t.Fatal(err)
	}
	err = r.PublishSpecs(t.Context(), []outbox.Spec{{Name: spec.Name, Digest: spec.Digest(), JSON: raw, TaskQueue: "q-1"}})
	if err != nil {
		t.Fatal(err)
	}
}

// proposal is a capture of payload {} as the engine would record it.
func proposal(key intent.RequestKey, principal string) outbox.Proposal {
	const tool = "payments.capture"
	p := outbox.Proposal{
		Tenant: "default", RequestKey: key, Principal: principal, Tool: tool, TaskQueue: "q-1",
		Payload: []byte("{}"), EffectContext: []byte(`{"service":"` + serviceName + `","tenant":"default"}`),
		IdempotencyKey: intent.DeriveKey("default", tool, key, 1),
		Rules:          tools.Spec{Name: tool, SideEffectful: true, Idempotent: true}.Rules(),
	}
	return p.Bound()
}

// ending is how a test's intent ended.
type ending struct {
	outbox.End
	decision policy.Decision
	// parked leaves it in doubt instead, without a receipt.
	parked bool
}

func answered(outcome intent.Outcome) ending {
	e := ending{decision: policy.Decision{Allow: true, Policy: "allow-registered"}}
	e.Worker, e.Evidence = "w-1", &outbox.Evidence{Attempt: 1, Token: uuid.New(), Outcome: outcome}
	switch outcome {
	case intent.Applied:
		e.To, e.Reason = intent.Completed, "applied"
		e.Evidence.MediaType, e.Evidence.Result = tools.MediaTypeJSON, []byte(`{"id":"cap_<1>","amount":9007199254740993}`)
	case intent.NotApplied:
		e.To, e.Reason, e.Evidence.Code, e.Evidence.Final = intent.Failed, "not applied", "card_declined", true
	case intent.Unknown:
		e.parked, e.To, e.Evidence.Code = true, intent.InDoubt, "connection_lost"
	}
	return e
}

func parked() ending { return answered(intent.Unknown) }

func refused() ending {
	return ending{
		End:      outbox.End{To: intent.Refused, Reason: intent.ReasonRefused},
		decision: policy.Decision{Policy: "quiet-hours", Code: intent.CodePolicyDenied, Reason: "not at night"},
	}
}

// ended writes an intent that ended, or is parked, and returns the bytes of its receipt.
func (r records) ended(t *testing.T, p outbox.Proposal, e ending) []byte {
	t.Helper()
	decision, err := e.decision.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	p.Decision = decision
	var receipt []byte
	_, err = r.InsertEnded(t.Context(), p, e.End, func(ctx context.Context, tx pgx.Tx, row outbox.Row, reason string, _ *outbox.Answer) error {
		if e.parked {
			return nil
		}
		sealed := receipts.Receipt{
			Version: receipts.Version, IntentID: row.ID, Generation: row.Generation, Tenant: row.Tenant, Principal: row.Principal,
			RequestKey: row.RequestKey, Tool: row.Tool, Decision: row.Decision, State: row.State, Outcome: intent.NotApplied,
			Reason: reason, CreatedAt: row.CreatedAt, EndedAt: row.EndedAt,
		}
		if e.Evidence != nil {
			sealed.Outcome = e.Evidence.Outcome
			sealed.Attempts = []receipts.Attempt{{Number: 1, Generation: 1, ClaimedAt: row.CreatedAt, Outcome: sealed.Outcome, Code: e.Evidence.Code}}
		}
		if receipt, err = sealed.Canonical(); err != nil {
			return err
		}
		return receipts.Append(ctx, tx, sealed)
	})
	if err != nil {
		t.Fatal(err)
	}
	return receipt
}
