package outbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// SavePolicies keeps the files of a set of policies for ever, texts by their names, in one flushed
// commit, so that a decision that names the digest can be explained. The digest covers what the
// policies say, not their comments and layout: of two texts with one digest the first is kept.
func (s *Store) SavePolicies(ctx context.Context, digest string, files map[string]string) error {
	return s.within(ctx, beginFlushed, func(tx pgx.Tx) error { return savePolicies(ctx, tx, digest, files) })
}

func savePolicies(ctx context.Context, tx pgx.Tx, digest string, files map[string]string) error {
	const statement = `INSERT INTO policy_sets (digest, files, stored_at) VALUES ($1, $2, writ_now()) ON CONFLICT DO NOTHING`
	var d intent.Digest
	if err := d.UnmarshalText([]byte(digest)); err != nil {
		return fmt.Errorf("digest of policies: %w", err)
	}
	text, err := json.Marshal(files)
	if err != nil {
		return fmt.Errorf("files of policies: %w", err)
	}
	_, err = tx.Exec(ctx, statement, d[:], text)
	return err
}

// Policies returns the files of the set of policies with the digest, texts by their names; false
// if no set with it was saved. The error has code invalid_policy if what is stored is no set.
func (s *Store) Policies(ctx context.Context, digest string) (map[string]string, bool, error) {
	files, known, err := policies(ctx, s.pool, digest)
	return files, known, DatabaseError(err)
}

func policies(ctx context.Context, q querier, digest string) (files map[string]string, known bool, err error) {
	var d intent.Digest
	if d.UnmarshalText([]byte(digest)) != nil {
		return nil, false, nil // no set has such a digest
	}
	var text []byte
	err = q.QueryRow(ctx, `SELECT files FROM policy_sets WHERE digest = $1`, d[:]).Scan(&text)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, false, nil
	}
	if err == nil && json.Unmarshal(text, &files) != nil {
		err = intent.Errorf(intent.CodeInvalidPolicy, "what is stored as the policies %s is no JSON object of texts: it was changed by hand", digest)
	}
	return files, err == nil, err
}

// PolicyChange is what somebody put in force.
type PolicyChange struct {
	// Number counts from 1; the highest is in force.
	Number int
	Digest string
	Said
}

// PutPolicies saves a set of policies, as SavePolicies does, and puts it in force, in one flushed
// commit. What is in force already stays as it was put. The change is kept for ever.
func (s *Store) PutPolicies(ctx context.Context, digest string, files map[string]string, by Decider) (PolicyChange, error) {
	const put = `
		INSERT INTO policy_changes (number, digest, ` + deciderColumns + `, changed_at)
		VALUES ($1, decode($2, 'hex'), $3, $4, $5, $6, $7, writ_now())`
	var change PolicyChange
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		if err := inTurn(ctx, tx, "policy_changes"); err != nil {
			return err
		}
		list, err := policyChanges(ctx, tx, 1)
		if err != nil {
			return err
		}
		number := 1
		if len(list) > 0 {
			if change = list[0]; change.Digest == digest {
				return nil
			}
			number += change.Number
		}
		if err := savePolicies(ctx, tx, digest, files); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, put, append([]any{number, digest}, by.values()...)...); err != nil {
			return err
		}
		if list, err = policyChanges(ctx, tx, 1); err == nil {
			change = list[0]
		}
		return err
	})
	return change, err
}

// PolicyChanges returns who put which policies in force, newest first, 1,000 at most. The first
// one is in force.
func (s *Store) PolicyChanges(ctx context.Context) ([]PolicyChange, error) {
	list, err := policyChanges(ctx, s.pool, maxSaid)
	return list, DatabaseError(err)
}

func policyChanges(ctx context.Context, q querier, limit int) ([]PolicyChange, error) {
	const query = `
		SELECT number, encode(digest, 'hex'), ` + saidColumns + ` FROM policy_changes ORDER BY number DESC LIMIT $1`
	rows, err := q.Query(ctx, query, limit)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (PolicyChange, error) {
		var c PolicyChange
		err := row.Scan(append([]any{&c.Number, &c.Digest}, c.columns()...)...)
		c.ChangedAt = c.ChangedAt.UTC()
		return c, err
	})
}

// NowAndPolicies returns the database's clock and the digest of the policies in force, which is
// empty if none are.
func (s *Store) NowAndPolicies(ctx context.Context) (now time.Time, digest string, err error) {
	const query = `
		SELECT writ_now(), coalesce((SELECT encode(digest, 'hex') FROM policy_changes ORDER BY number DESC LIMIT 1), '')`
	err = s.pool.QueryRow(ctx, query).Scan(&now, &digest)
	return now.UTC(), digest, DatabaseError(err)
}
