package outbox

import (
	"context"
	"encoding/binary"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Guard is what the duplicate guard needs to know of a proposal.
type Guard struct {
	// Window is for how long a later submission of the same action is a repeat of this one.
	Window time.Duration
	// Checked says that the request has no key of its own, so that it may itself repeat an
	// earlier one.
	Checked bool
	// FreshKey becomes the tenant's key of the day if there is none yet. It must be random.
	FreshKey intent.GuardKey
}

// Duplicate is an earlier intent of the same action.
type Duplicate struct {
	// Of is zero if there is none.
	Of intent.ID
	// Ago is how long ago it was committed.
	Ago time.Duration
}

// ErrDuplicateChanged says that a proposal must be decided on again: since it was, another
// submission of the same action was committed, or the one that it repeated came to nothing.
var ErrDuplicateChanged = errors.New("the earlier intent that this one repeats is another one than it was decided on")

// FindDuplicate returns the first intent of the action, other than the one named, that is
// still within its guard's window, unless its effect provably did not happen.
func (s *Store) FindDuplicate(ctx context.Context, action intent.Action, other intent.ID) (Duplicate, error) {
	keys, err := guardKeys(ctx, s.pool, action.Tenant)
	if err != nil {
		return Duplicate{}, DatabaseError(err)
	}
	found, err := findDuplicate(ctx, s.pool, keys, action, other)
	return found, DatabaseError(err)
}

// guardKeys returns the tenant's keys. Rows that were made under one are looked for for as
// long as it is there; there are at most a few, one for each day.
func guardKeys(ctx context.Context, q querier, tenant string) ([]intent.GuardKey, error) {
	rows, err := q.Query(ctx, `SELECT key FROM guard_keys WHERE tenant = $1`, tenant)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, func(row pgx.CollectableRow) (intent.GuardKey, error) {
		var key []byte
		err := row.Scan(&key)
		return intent.GuardKey(key), err
	})
}

func findDuplicate(ctx context.Context, q querier, keys []intent.GuardKey, action intent.Action, other intent.ID) (Duplicate, error) {
	// The first one and not the last: of many repeats at once, all name the same, whichever
	// of them is committed when.
	const query = `
		SELECT g.intent_id, writ_now() - g.created_at
		FROM duplicate_guards g JOIN intents i ON i.id = g.intent_id
		WHERE g.digest = ANY ($1) AND g.intent_id <> $2 AND g.expires_at > writ_now() AND (i.state NOT IN ('failed', 'refused', 'cancelled')
			-- Late evidence speaks against such an end.
			OR EXISTS (SELECT FROM attempts a WHERE a.intent_id = i.id AND a.outcome = 'applied')
			OR EXISTS (SELECT FROM lookups l WHERE l.intent_id = i.id AND l.finding = 'found'))
		ORDER BY g.created_at, g.intent_id LIMIT 1`
	if len(keys) == 0 {
		return Duplicate{}, nil
	}
	digests := make([][]byte, len(keys))
	for i, key := range keys {
		digest := intent.GuardDigest(key, action)
		digests[i] = digest[:]
	}
	var found Duplicate
	err := q.QueryRow(ctx, query, digests, other[:]).Scan((*[16]byte)(&found.Of), &found.Ago)
	if errors.Is(err, pgx.ErrNoRows) {
		return Duplicate{}, nil
	}
	return found, err
}

func (p Proposal) action() intent.Action {
	return intent.Action{Tenant: p.Tenant, Principal: p.Principal, Tool: p.Tool, Payload: p.Payload}
}

// lock takes what two transactions that do not see each other's rows yet must not do at once. It
// comes before every other lock of the transaction.
//
// The intent's number is shared by all who insert it and excludes who drops its request: one that
// was enqueued a moment ago may be missing from the snapshot of the insert.
//
// The action's number lets a submission without a key of its own come after all others of the same
// guarded action, so that it sees them. Those with keys do not look, and do not wait for each
// other: orders of one price must not follow each other's flushes. It is the same on every day,
// whatever the keys are, and is stored nowhere.
func (p Proposal) lock(ctx context.Context, tx pgx.Tx) error {
	statement, args := `SELECT `+sharedIntentLock, []any{lockNumber(p.ID())}
	if p.Guard != nil {
		digest := intent.GuardDigest(intent.GuardKey{}, p.action())
		args = append(args, int64(binary.BigEndian.Uint64(digest[:])))
		if p.Guard.Checked {
			statement += `, pg_advisory_xact_lock($2)`
		} else {
			statement += `, pg_advisory_xact_lock_shared($2)`
		}
	}
	_, err := tx.Exec(ctx, statement, args...)
	return err
}

// leaveMark lets later submissions find the row that was just inserted, or decided on again. The error is
// ErrDuplicateChanged if the row repeats another intent than the one that it was decided on.
func (p Proposal) leaveMark(ctx context.Context, tx pgx.Tx) error {
	var now time.Time
	if err := tx.QueryRow(ctx, `SELECT writ_now()`).Scan(&now); err != nil {
		return err
	}
	key, err := p.keyOfTheDay(ctx, tx, now)
	if err != nil {
		return err
	}
	if p.Guard.Checked {
		keys, err := guardKeys(ctx, tx, p.Tenant)
		if err != nil {
			return err
		}
		found, err := findDuplicate(ctx, tx, keys, p.action(), p.ID())
		if err != nil {
			return err
		}
		if found.Of != p.SuspectedDuplicateOf {
			return ErrDuplicateChanged
		}
	}
	id, digest := p.ID(), intent.GuardDigest(key, p.action())
	// One that was refused later than on its first day, and decided on again, has a mark already.
	const mark = `
		INSERT INTO duplicate_guards (digest, intent_id, created_at, expires_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (digest, intent_id) DO UPDATE SET created_at = excluded.created_at, expires_at = excluded.expires_at`
	_, err = tx.Exec(ctx, mark, digest[:], id[:], now, now.Add(p.Guard.Window))
	return err
}

const day = 24 * time.Hour

// keyOfTheDay returns the key under which the tenant's rows of today are made. It writes
// only if there is none yet, or none that lasts for this window.
func (p Proposal) keyOfTheDay(ctx context.Context, tx pgx.Tx, now time.Time) (intent.GuardKey, error) {
	const sufficient = `SELECT key FROM guard_keys WHERE tenant = $1 AND day = $2 AND expires_at >= $3`
	const upsert = `
		INSERT INTO guard_keys (tenant, day, key, expires_at) VALUES ($1, $2, $3, $4)
		ON CONFLICT (tenant, day) DO UPDATE SET expires_at = greatest(guard_keys.expires_at, excluded.expires_at)
		RETURNING key`
	today := now.UTC().Truncate(day)
	number, end := today.Unix()/int64(day/time.Second), today.Add(day).Add(p.Guard.Window)
	var key []byte
	err := tx.QueryRow(ctx, sufficient, p.Tenant, number, end).Scan(&key)
	if errors.Is(err, pgx.ErrNoRows) {
		err = tx.QueryRow(ctx, upsert, p.Tenant, number, p.Guard.FreshKey[:], end).Scan(&key)
	}
	if err != nil {
		return intent.GuardKey{}, err
	}
	return intent.GuardKey(key), nil
}

// DropExpiredGuards deletes up to limit marks whose window has passed, and as many keys that
// are older than every mark that was made under them can be, and returns how many it deleted
// in all.
func (s *Store) DropExpiredGuards(ctx context.Context, limit int) (int, error) {
	// The clock is read once, in a query of its own, so that the indexes can be asked.
	const marks = `
		WITH expired AS (
			SELECT digest, intent_id FROM duplicate_guards WHERE expires_at <= (SELECT writ_now())
			ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)
		DELETE FROM duplicate_guards g USING expired e WHERE g.digest = e.digest AND g.intent_id = e.intent_id`
	const keys = `
		WITH expired AS (
			SELECT tenant, day FROM guard_keys WHERE expires_at <= (SELECT writ_now())
			ORDER BY expires_at LIMIT $1 FOR UPDATE SKIP LOCKED)
		DELETE FROM guard_keys k USING expired e WHERE k.tenant = e.tenant AND k.day = e.day`
	var dropped int
	err := s.within(ctx, beginRelaxed, func(tx pgx.Tx) error {
		dropped = 0
		for _, statement := range []string{marks, keys} {
			tag, err := tx.Exec(ctx, statement, limit)
			if err != nil {
				return err
			}
			dropped += int(tag.RowsAffected())
		}
		return nil
	})
	return dropped, err
}
