package outbox

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// effectSession is a connection of the pool on which a tool may run. What a tool does to the
// session would meet everybody who uses the connection after it, so it is undone, or the
// connection is not used again.
type effectSession struct {
	conn *pgxpool.Conn
	tx   pgx.Tx
	// effect is nil as long as no tool has run.
	effect *EffectTx
	// prepared are the statements that pgx counted on being prepared when the tool began.
	prepared []string
}

// beginEffect leaves the isolation to the role, because the tool's statements may rely on it. The row
// is locked first, and every fact about the intent changes it: a snapshot that is older than
// one cannot lock it.
const beginEffect = "begin; set local synchronous_commit to on"

func (s *Store) effectSession(ctx context.Context) (*effectSession, error) {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{BeginQuery: beginEffect})
	if err != nil {
		conn.Release()
		return nil, err
	}
	return &effectSession{conn: conn, tx: tx}, nil
}

// given is the transaction for a tool, whose limits were just set.
func (s *effectSession) given(ctx context.Context, deadline time.Time) *EffectTx {
	s.effect = newEffectTx(ctx, s.tx, deadline)
	return s.effect
}

// giveBack ends the transaction, if nobody has, and returns the connection to the pool if its
// session is as it was.
func (s *effectSession) giveBack(ctx context.Context) {
	if s.effect != nil && s.effect.stuck {
		s.abandon()
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	_ = s.tx.Rollback(ctx)
	if s.effect == nil || s.conn.Conn().IsClosed() || s.clean(ctx) {
		s.conn.Release()
		return
	}
	_ = s.conn.Hijack().Close(ctx)
}

// rollbackTimeout is how long an answer to ROLLBACK and to what follows it is waited for before
// the connection is closed.
const rollbackTimeout = 2 * time.Second

// abandon leaves the connection to code of the tool that does not come back from within pgx:
// nothing but the socket may be touched. PostgreSQL rolls back as soon as it is closed.
func (s *effectSession) abandon() {
	conn, turn := s.conn.Hijack(), s.effect.turn
	_ = conn.PgConn().Conn().Close()
	go func() {
		turn <- struct{}{}
		ctx, cancel := context.WithTimeout(context.Background(), rollbackTimeout)
		defer cancel()
		_ = conn.Close(ctx)
	}()
}

// undo is DISCARD ALL (PostgreSQL manual, DISCARD), but for the prepared statements, most of
// which are pgx's. RESET ROLE brings back what ALTER ROLE … SET role gave the session, and RESET
// ALL what the URL gave it; what a pool's AfterConnect set is lost, and Writ's sets nothing.
const undo = `
	CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ROLE; RESET ALL; UNLISTEN *; DISCARD TEMP; DISCARD SEQUENCES;
	SELECT pg_catalog.pg_advisory_unlock_all();
	SELECT name, from_sql::text FROM pg_catalog.pg_prepared_statements`

// clean undoes what a tool did to the session, in one exchange, and reports whether that is
// all. It is not if the tool prepared statements, or dropped some that pgx counts on.
func (s *effectSession) clean(ctx context.Context) bool {
	results, err := s.conn.Conn().PgConn().Exec(ctx, undo).ReadAll()
	if err != nil || len(results) == 0 {
		return false
	}
	there := map[string]bool{}
	for _, row := range results[len(results)-1].Rows {
		if string(row[1]) == "true" {
			return false
		}
		there[string(row[0])] = true
	}
	for _, name := range s.prepared {
		if !there[name] {
			return false
		}
	}
	return true
}

// regain takes the session from the tool for the engine's own statements and the COMMIT, before
// which it could have become another role, looked at other tables, or put temporary ones, which
// PostgreSQL finds first, in front of the outbox's. The limits are set anew too.
func regain(ctx context.Context, tx pgx.Tx, left time.Duration) error {
	const statements = `
		SET SESSION AUTHORIZATION DEFAULT; RESET ROLE;
		RESET search_path; RESET client_encoding; RESET datestyle; RESET intervalstyle; RESET timezone;
		SELECT set_config('search_path', current_setting('search_path') || ', pg_temp', true)`
	if _, err := tx.Conn().PgConn().Exec(ctx, statements).ReadAll(); err != nil {
		return err
	}
	return setLimits(ctx, tx, left)
}
