package activities

import (
	"context"
	"errors"
	"time"

	"writ/intent"
	"writ/internal/invocation"
	"writ/internal/killpoint"
	"writ/outbox"
	"writ/tools"
)

// transact runs an attempt of a tool whose effect is in the outbox's own database. The
// transaction that makes the effect also ends the intent, so there is nothing left to journal,
// and nothing that a history could say about it counts: if PostgreSQL forgets the commit, in a
// failover to a standby that had not got it, it forgets the effect too, and the intent goes on.
func (a *Activities) transact(ctx context.Context, tool tools.Transactor, r run, row outbox.Row) (InvokeOutput, error) {
	t := outbox.Transaction{ID: row.ID, Attempt: r.attempt.Number, Token: r.attempt.Token, Deadline: r.fields.Deadline, Lease: r.lease}
	r.late = func(outbox.Evidence) {} // its transaction is gone
	effect := func(tx *outbox.EffectTx) outbox.Evidence {
		r.tool = transacting{Transactor: tool, tx: tx}
		ev := r.untilLease(ctx)
		if cause := tx.Cause(); cause != "" && ev.Outcome != intent.Applied && (ev.Code == "" || ev.Code == CodeToolError) {
			ev.Code = cause
		}
		killpoint.Reach(killpoint.InTransaction, row.ID.String())
		return ev
	}
	done, err := a.store.Transact(context.WithoutCancel(ctx), t, effect, Seal)
	if errors.Is(err, outbox.ErrCommitLost) {
		done, err = a.becameOf(ctx, t)
	}
	if err != nil {
		// Still open, and so it is for the next claim to see, under the row's lock.
		a.log.Warn("what became of a commit is not known yet; the next attempt will see it", "intent_id", row.ID, "attempt", t.Attempt, "error", err)
		return InvokeOutput{Progress: progressOf(row)}, nil
	}
	if done.Evidence == nil {
		killpoint.Reach(killpoint.AfterTransaction, row.ID.String())
		a.notice(done.Row)
		return InvokeOutput{Progress: progressOf(done.Row)}, nil
	}
	ev := *done.Evidence
	ev.Message = storable(ev.Message, maxMessage)
	killpoint.Reach(killpoint.BeforeEvidence, row.ID.String())
	row, ev = a.recordEvidence(ctx, row, ev, r.lease)
	killpoint.Reach(killpoint.AfterEvidence, row.ID.String())
	return InvokeOutput{Progress: progressOf(row), Evidence: &ev}, nil
}

// becameOf asks what became of a transaction whose COMMIT was not answered.
func (a *Activities) becameOf(ctx context.Context, t outbox.Transaction) (outbox.Transacted, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), claimTimeout)
	defer cancel()
	return retryDatabase(ctx, func() (outbox.Transacted, error) { return a.store.BecameOf(ctx, t) })
}

// transacting is a transactional tool with its transaction.
type transacting struct {
	tools.Transactor
	tx *outbox.EffectTx
}

func (t transacting) Invoke(ctx context.Context, inv invocation.Invocation) (tools.Result, error) {
	defer t.tx.End() // while ctx lasts, whose end would cost the connection that rows are open on
	return t.InvokeTx(ctx, t.tx, inv)
}

// whileRunning makes a claim come back later because the transaction of the newest attempt
// still runs: after as long as that attempt has run already, so that few looks are taken
// whatever its lease is, and right after the lease, by when PostgreSQL has ended it.
func whileRunning(row outbox.Row) Progress {
	p := progressOf(row)
	last := row.Attempts[len(row.Attempts)-1]
	wait := max(min(row.ReadAt.Sub(last.ClaimedAt), last.LeaseUntil.Sub(row.ReadAt)), time.Second)
	p.Step = intent.Step{Kind: intent.Wait, At: row.ReadAt.Add(wait), Reason: intent.ReasonLeaseRunning}
	p.WaitMS = wait.Milliseconds()
	return p
}
