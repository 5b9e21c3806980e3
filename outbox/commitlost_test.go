package outbox_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"writ/intent"
	"writ/outbox"
)

// wire is a network on which one COMMIT meets an accident.
type wire struct {
	net.Conn
	accident *atomic.Pointer[accident]
}

// accident happens to the bytes of a COMMIT; it is in place of sending them.
type accident func(w *wire, commit []byte) (int, error)

func (w *wire) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("commit\x00")) {
		if happens := w.accident.Swap(nil); happens != nil {
			return (*happens)(w, p)
		}
	}
	return w.Conn.Write(p)
}

// over is the same outbox over a network where the next COMMIT of a tool's transaction meets
// the accident once it is armed.
func (b bundle) over(t *testing.T) (bundle, *atomic.Pointer[accident]) {
	t.Helper()
	cfg, err := pgxpool.ParseConfig(b.url)
	if err != nil {
		t.Fatal(err)
	}
	armed := &atomic.Pointer[accident]{}
	dial := cfg.ConnConfig.DialFunc
	cfg.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		return &wire{Conn: conn, accident: armed}, err
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	other := b
	other.Store = outbox.New(pool)
	return other, armed
}

// lostCommit is what may become of a COMMIT that nobody answers.
type lostCommit struct {
	accident  accident
	committed bool
}

// accidents are all that may become of it, by name.
func accidents() map[string]lostCommit {
	return map[string]lostCommit{
		"the_answer_is_lost": {func(w *wire, commit []byte) (int, error) {
			n, err := w.Conn.Write(commit)
			if err == nil {
				err = errors.Join(w.Conn.SetReadDeadline(time.Now().Add(10*time.Second)), readyForQuery(w.Conn), w.Conn.Close())
			}
			return n, err
		}, true},
		"the_commit_is_lost": {func(w *wire, commit []byte) (int, error) {
			return len(commit), w.Conn.Close()
		}, false},
	}
}

func TestALostAnswerToTheCommitIsNeverUnknown(t *testing.T) {
	t.Parallel()
	b := start(t)
	for name, c := range accidents() {
		t.Run(name, func(t *testing.T) {
			claim := b.claimed(t, name)
			engine, armed := b.over(t)
			limits := within(claim, 10*time.Second)
			_, err := engine.Transact(t.Context(), limits, evidenceOf(claim, func(tx *outbox.EffectTx) error {
				armed.Store(&c.accident)
				return purge(t, name)(tx)
			}), seal)
			if !errors.Is(err, outbox.ErrCommitLost) {
				t.Fatalf("the COMMIT ended with %v", err)
			}
			became, err := engine.BecameOf(t.Context(), limits)
			if err != nil || became.Committed != c.committed {
				t.Fatalf("it became %+v, %v", became, err)
			}
			if c.committed {
				b.wantOnce(t, claim.Row.ID, name, 1)
				return
			}
			b.wantNothing(t, claim, name, became, outbox.CodeCommitLost)
			b.setClock(t, time.Now())
			row := b.evidence(t, became.Row, *became.Evidence)
			b.setClock(t, time.Now().Add(time.Hour))
			again := b.granted(t, b.load(t, row.ID))
			if done := b.transact(t, again, purge(t, name)); !done.Committed {
				t.Fatalf("%+v", done.Evidence)
			}
			b.wantOnce(t, row.ID, name, 2)
		})
	}
}

// readyForQuery reads until PostgreSQL has said that the transaction is over.
func readyForQuery(conn net.Conn) error {
	var said []byte
	for buffer := make([]byte, 512); !bytes.HasSuffix(said, []byte("Z\x00\x00\x00\x05I")); {
		n, err := conn.Read(buffer)
		if err != nil {
			return err
		}
		said = append(said, buffer[:n]...)
	}
	return nil
}

func TestWhatBecameOfATransactionIsAskedOnlyAfterItIsOver(t *testing.T) {
	t.Parallel()
	b := start(t)
	c := b.claimed(t, "terms")
	limits := within(c, 10*time.Second)
	became := make(chan outbox.Transacted, 1)
	done := b.transactWithin(t, limits, c, func(tx *outbox.EffectTx) error {
		go func() {
			answer, err := b.BecameOf(context.WithoutCancel(t.Context()), limits)
			if err != nil {
				t.Error(err)
			}
			became <- answer
		}()
		b.awaitLockWait(t)
		return purge(t, "terms")(tx)
	})
	if answer := <-became; !done.Committed || !answer.Committed || answer.Row.State != intent.Completed {
		t.Errorf("%+v", answer)
	}
}

func TestAnEffectHappensOnceWhereverItsConnectionIsCut(t *testing.T) {
	t.Parallel()
	b := start(t)
	for name, cut := range map[string]struct {
		run  effect
		seal outbox.Seal
	}{
		"before_the_statement": {func(tx *outbox.EffectTx) error {
			b.terminate(t, tx)
			return purge(t, "before_the_statement")(tx)
		}, seal},
		"after_the_statement": {func(tx *outbox.EffectTx) error {
			err := purge(t, "after_the_statement")(tx)
			b.terminate(t, tx)
			return err
		}, seal},
		"in_the_seal": {purge(t, "in_the_seal"), func(ctx context.Context, tx pgx.Tx, row outbox.Row, reason string, answer *outbox.Answer) error {
			b.kill(t, int(tx.Conn().PgConn().PID()))
			return seal(ctx, tx, row, reason, answer)
		}},
		"after_the_seal": {purge(t, "after_the_seal"), func(ctx context.Context, tx pgx.Tx, row outbox.Row, reason string, answer *outbox.Answer) error {
			err := seal(ctx, tx, row, reason, answer)
			b.kill(t, int(tx.Conn().PgConn().PID()))
			return err
		}},
	} {
		t.Run(name, func(t *testing.T) {
			c := b.claimed(t, name)
			limits := within(c, 10*time.Second)
			done, err := b.Transact(t.Context(), limits, evidenceOf(c, cut.run), cut.seal)
			if errors.Is(err, outbox.ErrCommitLost) {
				done, err = b.BecameOf(t.Context(), limits)
			}
			if err != nil || done.Committed || done.Evidence == nil || done.Evidence.Outcome != intent.NotApplied {
				t.Fatalf("%+v, %v", done, err)
			}
			// The evidence is lost as well: the next claim finds out by itself.
			again := b.granted(t, b.load(t, c.Row.ID))
			if done := b.transact(t, again, purge(t, name)); !done.Committed {
				t.Fatalf("%+v", done.Evidence)
			}
			b.wantOnce(t, c.Row.ID, name, 2)
		})
	}
}

// terminate ends the transaction's own process.
func (b bundle) terminate(t *testing.T, tx *outbox.EffectTx) {
	t.Helper()
	var pid int
	if err := tx.QueryRow(t.Context(), `SELECT pg_backend_pid()`).Scan(&pid); err != nil {
		t.Error(err)
	}
	b.kill(t, pid)
}

func (b bundle) kill(t *testing.T, pid int) {
	t.Helper()
	b.exec(t, `SELECT pg_terminate_backend($1)`, pid)
	b.awaitGone(t, pid)
}
