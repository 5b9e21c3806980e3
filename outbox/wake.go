package outbox

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
)

// wakeChannel is the channel of PostgreSQL's NOTIFY. All outboxes of a database share it, and a
// message names the schema.
const wakeChannel = "writ_enqueued"

// Execer runs a statement. Pools and connections of pgx do.
type Execer interface {
	Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error)
}

// ownSchema is the schema of the outbox, which need not be the first one of a host's search path.
const ownSchema = `(SELECT relnamespace::regnamespace::text FROM pg_class WHERE oid = 'enqueued'::regclass)`

// Wake has dispatchers look for enqueued requests now. It is called after the host's COMMIT, with a
// pool or a connection that is in no transaction: PostgreSQL lets the transactions that notify
// commit one at a time in the whole cluster, and a host's should not be among them. This one
// writes nothing, so it waits for no disk.
//
// A wake-up that is lost costs no more than the dispatchers' interval.
func Wake(ctx context.Context, db Execer) error {
	_, err := db.Exec(ctx, `SELECT pg_notify('`+wakeChannel+`', `+ownSchema+`)`)
	return DatabaseError(err)
}

// How long a listener waits before it looks whether its connection still lives, which a firewall may
// have forgotten, and how long for the answer.
const (
	listenCheck    = time.Minute
	listenPatience = 10 * time.Second
)

// ErrNotListening says that nobody can listen through the pooler that stands before the database.
var ErrNotListening = errors.New("a pooler would lend the connection of a listener to others")

// Listen calls woken once it listens, because it may have missed a [Wake], and then after every
// Wake of this outbox, until ctx ends or the connection breaks. The connection is one of its own
// beside the pool. The error is never nil; to listen again helps unless it is [ErrNotListening].
func (s *Store) Listen(ctx context.Context, woken func()) error {
	i, err := s.Inspector(ctx)
	if err != nil {
		return fmt.Errorf("connect to listen for enqueued requests: %w", err)
	}
	defer func() { _ = i.Close(context.WithoutCancel(ctx)) }()
	p, err := i.Pooler(ctx)
	if err != nil {
		return err
	}
	switch p.Mode {
	case Direct, PerSession:
		return i.listen(ctx, woken)
	case PerTransaction, PerStatement:
	}
	return fmt.Errorf("%w: it does so after each %s", ErrNotListening, p.Mode)
}

func (i *Inspector) listen(ctx context.Context, woken func()) error {
	if _, err := i.conn.Exec(ctx, `LISTEN `+wakeChannel); err != nil {
		return wrap("listen for enqueued requests", err)
	}
	var schema string
	if err := i.conn.QueryRow(ctx, `SELECT `+ownSchema).Scan(&schema); err != nil {
		return wrap("look for the schema", err)
	}
	woken()
	for {
		payload, err := i.hear(ctx)
		if err != nil {
			return wrap("wait for enqueued requests", err)
		}
		if payload == schema {
			woken()
		}
	}
}

// hear returns the next message, or nothing if there was none for a while and the connection lives.
func (i *Inspector) hear(ctx context.Context) (payload string, err error) {
	waiting, stop := context.WithTimeout(ctx, listenCheck)
	defer stop()
	message, err := i.conn.WaitForNotification(waiting)
	switch {
	case message != nil:
		return message.Payload, nil
	case ctx.Err() != nil || waiting.Err() == nil || i.Lost():
		return "", err
	}
	asking, stop := context.WithTimeout(ctx, listenPatience)
	defer stop()
	return "", i.conn.Ping(asking)
}
