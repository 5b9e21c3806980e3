package outbox_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// bundle is an outbox in a schema of the test's own.
type bundle struct {
	*outbox.Store
	url     string
	pool    *pgxpool.Pool
	commits *pgtest.Commits
}

// start migrates a fresh schema. parameters are added to the URL of the pool.
func start(t *testing.T, parameters ...string) bundle {
	t.Helper()
	url := pgtest.Schema(t)
	if err := outbox.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pool, commits := pgtest.Pool(t, strings.Join(append([]string{url}, parameters...), "&"))
	return bundle{Store: outbox.New(pool), url: url, pool: pool, commits: commits}
}

// setClock stops the database's clock of this schema at the given time.
func (b bundle) setClock(t *testing.T, at time.Time) {
	t.Helper()
	b.exec(t, fmt.Sprintf(`CREATE OR REPLACE FUNCTION writ_now() RETURNS timestamptz LANGUAGE sql VOLATILE
		AS $$ SELECT '%s'::timestamptz $$`, at.Format(time.RFC3339Nano)))
}

// noon is when stopped clocks begin.
var noon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

func (b bundle) exec(t *testing.T, statement string, args ...any) {
	t.Helper()
	if _, err := b.pool.Exec(t.Context(), statement, args...); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// query returns the single value of a query.
func query[T any](t *testing.T, b bundle, statement string, args ...any) T {
	t.Helper()
	var v T
	if err := b.pool.QueryRow(t.Context(), statement, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
	return v
}

func keyed() intent.Rules {
	return intent.Rules{Class: intent.Keyed, Retryable: true, Timeout: 10 * time.Second, MaxAttempts: 3,
		InitialBackoff: time.Second, MaxBackoff: time.Minute, Window: 24 * time.Hour}
}

func opaque() intent.Rules {
	return intent.Rules{Class: intent.Opaque, Retryable: true, Timeout: 10 * time.Second, MaxAttempts: 3,
		InitialBackoff: time.Second, MaxBackoff: time.Minute}
}

var behaviour = intent.SpecDigest([]byte(`{"name":"payments.capture"}`))

func propose(key string, rules intent.Rules) outbox.Proposal {
	p := outbox.Proposal{
		Tenant: "acme", RequestKey: intent.RequestKey(key), Principal: "till-7", Tool: "payments.capture", TaskQueue: "writ",
		Payload: []byte(`{"amount":"12.90","note":"\u0000"}`), EffectContext: []byte(`{"principal":"till-7","tenant":"acme"}`),
		Decision: []byte(`{"allow":true}`), IdempotencyKey: intent.DeriveKey("acme", "payments.capture", intent.RequestKey(key), 1),
		Salt: intent.Salt{1, 2, 3}, SpecDigest: behaviour, Rules: rules, Traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
	}
	return p.Bound()
}

// seal writes a receipt that only this package's tests read.
func seal(ctx context.Context, tx pgx.Tx, row outbox.Row, reason string, answer *outbox.Answer) error {
	var said string
	if answer != nil {
		said = fmt.Sprintf("%s, %d of %d bytes", answer.MediaType, answer.Kept, answer.Size)
	}
	_, err := tx.Exec(ctx, `INSERT INTO receipts (intent_id, generation, number, body, created_at) VALUES ($1, $2, $3, $4, $5)`,
		row.ID[:], row.Generation, row.Amendment, fmt.Appendf(nil, "%s %s %d %s", row.State, reason, len(row.Attempts), said), row.EndedAt)
	return err
}

// result returns the recorded answer.
func (b bundle) result(t *testing.T, id intent.ID) (mediaType string, body []byte, err error) {
	t.Helper()
	answer, body, err := b.Result(t.Context(), id)
	if answer == nil {
		return "", body, err
	}
	return answer.MediaType, body, err
}

// receipt returns what seal wrote; there is exactly one.
func (b bundle) receipt(t *testing.T, id intent.ID) string {
	t.Helper()
	return string(query[[]byte](t, b, `SELECT string_agg(body, ' and ' ORDER BY generation, number) FROM receipts WHERE intent_id = $1`, id[:]))
}

func (b bundle) insert(t *testing.T, p outbox.Proposal) outbox.Row {
	t.Helper()
	row, err := b.Insert(t.Context(), p.Bound())
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// claim asks for the next attempt on the row's version, with a new token. Like the functions
// below it may be called by other goroutines, so it does not stop the test.
func (b bundle) claim(t *testing.T, row outbox.Row) outbox.Claim {
	t.Helper()
	now, err := b.Now(t.Context())
	if err != nil {
		t.Error(err)
	}
	c, err := b.Claim(t.Context(), outbox.ClaimRequest{ID: row.ID, Version: row.Version, DecidedAt: now, Token: uuid.New(), Worker: "worker-1", SpecDigest: behaviour})
	if err != nil {
		t.Error(err)
	}
	return c
}

// granted is claim where it must be granted, at the latest when the clock does not move meanwhile.
func (b bundle) granted(t *testing.T, row outbox.Row) outbox.Claim {
	t.Helper()
	c := b.claim(t, row)
	for c.Undecided {
		c = b.claim(t, row)
	}
	if !c.Granted {
		t.Fatalf("the claim was not granted; the row says %+v", c.Row.Next())
	}
	return c
}

func (b bundle) evidence(t *testing.T, row outbox.Row, ev outbox.Evidence) outbox.Row {
	t.Helper()
	row, err := b.RecordEvidence(t.Context(), row.ID, ev, false, seal)
	if err != nil {
		t.Error(err)
	}
	return row
}

func (b bundle) journal(t *testing.T, row outbox.Row, ev *outbox.Evidence) outbox.Row {
	t.Helper()
	row, err := b.Journal(t.Context(), row.ID, ev, seal)
	if err != nil {
		t.Error(err)
	}
	return row
}

func (b bundle) load(t *testing.T, id intent.ID) outbox.Row {
	t.Helper()
	row, err := b.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// of makes evidence about the claim's attempt.
func of(c outbox.Claim, outcome intent.Outcome, code string) outbox.Evidence {
	ev := outbox.Evidence{Attempt: c.Attempt.Number, Token: c.Attempt.Token, Outcome: outcome, Code: code}
	if outcome == intent.Applied {
		ev.MediaType, ev.Result = "application/json", []byte(`{"captured":true}`)
	}
	return ev
}
