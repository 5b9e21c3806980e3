package writ

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/outbox"
	"writ/telemetry"
)

// EnqueueOptions say when an enqueued request runs and how large it may be.
type EnqueueOptions struct {
	// NotBefore is the earliest time at which it runs, by the database's clock; at most ten
	// years from now. Zero, or a time that has passed: at once.
	NotBefore time.Time
	// MaxPayload is the size in bytes that the payload may have, as Config.MaxPayload of those
	// who run it. Default: 1 MiB.
	MaxPayload int
}

// maxDelay bounds EnqueueOptions.NotBefore. A time behind it was computed in the wrong unit.
const maxDelay = 10 * 366 * 24 * time.Hour

// Enqueued is the identity of an enqueued request.
type Enqueued struct {
	ID         intent.ID         `json:"id"`
	RequestKey intent.RequestKey `json:"request_key"`
}

// Enqueue writes the request in the host's own transaction: if that commits, the tool is run,
// and if it does not, nothing was asked for. It needs no client and no Temporal, and sends
// nothing; a [Worker] or a [Recovery] starts the intent after the commit, within its
// DispatchEvery, or at once after a [Wake]. The transaction's search path has to name Writ's schema.
//
// The transaction goes on, and can be committed, whatever is returned, unless ctx ends or the
// connection is lost meanwhile: then it is not known whether the request was written, and the
// transaction has to be rolled back and run again. The same request key again writes nothing if it
// is the same action, also where its intent has ended, unless it was refused: then it is decided on
// anew. The errors that are answers, beside those of
// [Request.Check]:
//
//   - idempotency_conflict: the key names another action.
//   - effect_context_mismatch: the key stands for this action with other roles, another delegation or
//     another service.
//   - dropped: a person dropped the request with this key.
//   - payload_not_object: also for an object inside a JSON string, which only the tool's
//     published spec could allow.
//   - invalid_request: NotBefore is too far ahead.
//   - transaction_conflict: another transaction took the key meanwhile, under REPEATABLE READ or
//     SERIALIZABLE, or a deadlock was broken; run the whole transaction again.
//   - transaction_unusable: it failed before, has ended, is read-only, or is nil.
//
// Two transactions that enqueue one key wait for each other. One that enqueues a key for which
// another action is submitted directly at the same moment, or this one with another authority, may
// commit as well: the first of the two to be an intent runs, and the other is parked with the code of
// that error.
//
// What the tool, its schema or the policy say is decided after the commit. A request that is
// rejected then is parked.
func Enqueue(ctx context.Context, tx pgx.Tx, r Request, o EnqueueOptions) (Enqueued, error) {
	if err := checkLimit("MaxPayload", o.MaxPayload, maxMaxPayload); err != nil {
		return Enqueued{}, err
	}
	p, err := r.prepare(true, o.MaxPayload)
	if err != nil {
		return Enqueued{}, err
	}
	if err := o.check(p, time.Now()); err != nil {
		return Enqueued{}, err
	}
	ctx, span := telemetry.Start(ctx, "writ.enqueue", spanAttributes(p)...)
	_, err = outbox.Enqueue(ctx, tx, outbox.Enqueued{
		RequestKey: p.request.RequestKey, Action: p.request.Action(), EffectContext: p.request.Context.Canonical(),
		Traceparent: telemetry.Traceparent(ctx), NotBefore: o.NotBefore,
	})
	telemetry.End(span, err)
	return Enqueued{ID: p.id, RequestKey: p.request.RequestKey}, err
}

// Execer runs a statement. A *pgxpool.Pool and a *pgx.Conn do.
type Execer = outbox.Execer

// Wake has every [Worker] and [Recovery] that dispatches look for enqueued requests now instead of
// within its DispatchEvery. Call it after the commit of what was enqueued, with a pool or a
// connection whose search path names Writ's schema. Inside the transaction it would do no harm but
// make the host's commits wait for each other, because PostgreSQL lets those that notify commit one
// at a time.
//
// The error may be ignored: a wake-up that is lost costs no more than DispatchEvery.
func Wake(ctx context.Context, db Execer) error { return outbox.Wake(ctx, db) }

func (o EnqueueOptions) check(p prepared, now time.Time) error {
	if p.payload.FromText {
		return intent.Errorf(intent.CodePayloadNotObject,
			"the payload is a string; enqueue the JSON object itself, because whether the tool takes text that contains one is not known here")
	}
	if o.NotBefore.After(now.Add(maxDelay)) {
		return intent.Errorf(intent.CodeInvalidRequest, "not before %s is more than ten years away; give an earlier time", o.NotBefore.UTC().Format(time.RFC3339))
	}
	return nil
}
