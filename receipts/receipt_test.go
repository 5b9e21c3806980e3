package receipts_test

import (
	"bytes"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/receipts"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

func example() receipts.Receipt {
	result := intent.Digest{5}
	at := time.Date(2026, 3, 1, 12, 0, 0, 123456000, time.UTC)
	return receipts.Receipt{
		Version: receipts.Version, IntentID: intent.IntentID("acme", "order-4711"), Generation: 1,
		Tenant: "acme", Principal: "till-7", RequestKey: "order-4711 <&>", Tool: "payments.capture",
		SpecDigest: intent.Digest{1}, Commitment: intent.Digest{2}, KeyDigest: intent.Digest{3},
		Decision: json.RawMessage(`{"allow":true,"policy":"allow-registered"}`),
		Attempts: []receipts.Attempt{
			{Number: 1, Generation: 1, ClaimedAt: at, Outcome: intent.Unknown},
			{Number: 2, Generation: 1, ClaimedAt: at.Add(time.Second), Outcome: intent.Applied, EvidenceAt: at.Add(2 * time.Second)},
		},
		State: intent.Completed, Outcome: intent.Applied, Reason: intent.ReasonApplied,
		ResultDigest: &result, MediaType: "application/json", CreatedAt: at, EndedAt: at.Add(3 * time.Second),
	}
}

// What an auditor reads, byte for byte. It changes only together with receipts.Version.
func TestTheFormOfAReceiptIsFixed(t *testing.T) {
	t.Parallel()
	body, err := example().Canonical()
	if err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/receipt.json")
	if err != nil {
		t.Fatal(err)
	}
	if want = bytes.TrimSuffix(want, []byte("\n")); !bytes.Equal(body, want) {
		t.Errorf("%s\nwant\n%s", body, want)
	}
}

func TestAReceiptIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*receipts.Receipt){
		"completed": func(*receipts.Receipt) {},
		"a repeat that a person confirmed": func(r *receipts.Receipt) {
			r.SuspectedDuplicateOf = intent.IntentID("acme", "order-4710")
			r.Decisions = []receipts.Decision{{Kind: intent.Confirm, Principal: "eve", Note: "two <deliveries>", Commitment: intent.Digest{2}, DecidedAt: r.CreatedAt}}
		},
		"refused, nothing was run": func(r *receipts.Receipt) {
			r.State, r.Outcome, r.Attempts = intent.Refused, intent.NotApplied, []receipts.Attempt{}
			r.ResultDigest, r.MediaType = nil, ""
		},
	} {
		receipt := example()
		change(&receipt)
		body, err := receipt.Canonical()
		if err != nil {
			t.Fatal(err)
		}
		read, err := receipts.Parse(body)
		if err != nil || !reflect.DeepEqual(read, receipt) {
			t.Errorf("%s: read %+v, %v\nwant %+v", name, read, err, receipt)
		}
		if canonical, err := intent.Canonicalize(body); err != nil || !bytes.Equal(canonical, body) {
			t.Errorf("%s: not canonical: %s, %v", name, body, err)
		}
	}
	if _, err := receipts.Parse([]byte("{")); err == nil {
		t.Error("half a receipt was read")
	}
}

func TestAReceiptWithADecisionThatIsNoJSONIsNotWritten(t *testing.T) {
	t.Parallel()
	receipt := example()
	receipt.Decision = json.RawMessage(`{`)
	if body, err := receipt.Canonical(); err == nil || !strings.Contains(err.Error(), receipt.IntentID.String()) {
		t.Errorf("%s, %v", body, err)
	}
}

// journal returns a schema with the tables and the intent of the example. The migration is
// read from its file, because receipts and the outbox do not import each other.
func journal(t *testing.T) *pgxpool.Pool {
	t.Helper()
	script, err := os.ReadFile("../outbox/migrations/00001_intents.sql")
	if err != nil {
		t.Fatal(err)
	}
	up, _, _ := strings.Cut(string(script), "-- +goose Down")
	pool, _ := pgtest.Pool(t, pgtest.Schema(t))
	id := example().IntentID
	for _, statement := range []string{up, `
		INSERT INTO intents (id, tenant, request_key, principal, tool, task_queue, class, state, version, generation, idempotency_key, payload,
			effect_context, decision, salt, fingerprint, spec_digest, commitment, rules, traceparent, created_at)
		VALUES ('` + id.String() + `', 'acme', 'order-4711', 'till-7', 'payments.capture', 'writ', 'keyed', 'recorded', 1, 1,
			gen_random_uuid()::text, '{}', '{}', '{}', substr(sha256('s'), 1, 16), sha256('f'), sha256('d'), sha256('c'), '{}', '', writ_now())`,
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	return pool
}

func appended(t *testing.T, pool *pgxpool.Pool, r receipts.Receipt) error {
	t.Helper()
	return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return receipts.Append(t.Context(), tx, r) })
}

func TestTheNewestFinalReceiptIsTheOneThatIsGiven(t *testing.T) {
	t.Parallel()
	pool := journal(t)
	first := example()
	if _, err := receipts.Get(t.Context(), pool, first.IntentID); intent.CodeOf(err) != intent.CodeReceiptNotFound {
		t.Errorf("before the end: %v", err)
	}
	reissued, amendment := example(), example()
	reissued.Generation = 2
	amendment.Generation, amendment.Number = 2, 1
	for _, r := range []receipts.Receipt{first, reissued, amendment} {
		if err := appended(t, pool, r); err != nil {
			t.Fatal(err)
		}
	}
	want, err := reissued.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := receipts.Get(t.Context(), pool, first.IntentID); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s, %v\nwant %s", got, err, want)
	}
}

func TestThereIsOneFinalReceiptOfEachGeneration(t *testing.T) {
	t.Parallel()
	pool := journal(t)
	if err := appended(t, pool, example()); err != nil {
		t.Fatal(err)
	}
	if err := appended(t, pool, example()); err == nil {
		t.Error("a second one was written")
	}
	stranger := example()
	stranger.IntentID = intent.IntentID("acme", "nobody")
	if err := appended(t, pool, stranger); err == nil {
		t.Error("a receipt of an intent that does not exist was written")
	}
}
