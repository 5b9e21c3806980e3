package outbox_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

// What an intent costs in the database that succeeds at once, beside the three flushed commits
// without which it could not be what it is. The ratio of the two is what matters.
func BenchmarkAnIntentBesideItsThreeCommits(b *testing.B) {
	url := pgtest.Schema(b)
	if err := outbox.Migrate(b.Context(), url); err != nil {
		b.Fatal(err)
	}
	pool, _ := pgtest.Pool(b, url)
	b.Run("three commits", func(b *testing.B) {
		if _, err := pool.Exec(b.Context(), `CREATE TABLE IF NOT EXISTS floor (n bigserial, body bytea)`); err != nil {
			b.Fatal(err)
		}
		for b.Loop() {
			for range 3 {
				if err := flushed(b.Context(), pool); err != nil {
					b.Fatal(err)
				}
			}
		}
	})
	store := outbox.New(pool)
	n := 0
	for _, c := range []struct {
		name  string
		rules intent.Rules
	}{{"an intent", keyed()}, {"an intent that could be looked up", reconcilable()}} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				n++
				if err := life(b.Context(), store, propose(fmt.Sprintf("order-%d", n), c.rules)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func flushed(ctx context.Context, pool *pgxpool.Pool) error {
	return pgx.BeginTxFunc(ctx, pool, pgx.TxOptions{BeginQuery: "begin; set local synchronous_commit to on"}, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO floor (body) VALUES ($1)`, make([]byte, 500))
		return err
	})
}

// life persists, claims and journals an intent whose effect happens at once.
func life(ctx context.Context, store *outbox.Store, p outbox.Proposal) error {
	row, err := store.Insert(ctx, p)
	if err != nil {
		return err
	}
	c, err := store.Claim(ctx, outbox.ClaimRequest{ID: row.ID, Version: row.Version, DecidedAt: row.ReadAt, Token: uuid.New(), Worker: "worker-1", SpecDigest: behaviour})
	if err != nil || !c.Granted {
		return fmt.Errorf("not granted: %+v, %w", c.Row.Next(), err)
	}
	ev := of(c, intent.Applied, "")
	if _, err = store.RecordEvidence(ctx, row.ID, ev, false, seal); err != nil {
		return err
	}
	_, err = store.Journal(ctx, row.ID, &ev, seal)
	return err
}
