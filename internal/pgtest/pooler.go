package pgtest

import (
	"context"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// PoolerOptions say how a connection pooler behaves. The zero value lends each client a
// connection for as long as it is connected.
type PoolerOptions struct {
	// PerTransaction lends it for one transaction, as PgBouncer's pool_mode = transaction.
	PerTransaction bool
	// PerStatement lends it for one statement and refuses transactions.
	PerStatement bool
	// KeepPrepared keeps the prepared statements of clients apart. This one only renames
	// them, and does not prepare them again on another connection.
	KeepPrepared bool
	// OnlyKnownParameters refuses what PgBouncer by default does: a search_path at the start.
	OnlyKnownParameters bool
	// RoundRobin lends next what was used first, and not what was used last.
	RoundRobin bool
	// Size is how many connections it opens to the server. Default: 2.
	Size int
}

// Pooler starts a connection pooler in front of the database at address and returns the
// URL through it. It is a small PgBouncer for tests: clients need no password, COPY and
// cancel requests do not pass, and it ends with the test.
func Pooler(t testing.TB, address string, options PoolerOptions) string {
	t.Helper()
	if options.Size == 0 {
		options.Size = 2
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &pooler{options: options, listener: listener, clients: map[net.Conn]bool{}}
	p.returned.L = &p.mu
	for range options.Size {
		p.idle = append(p.idle, openUpstream(t, address))
	}
	p.running.Go(p.accept)
	t.Cleanup(p.stop)
	return rewritten(t, address, func(u *url.URL) {
		u.User, u.Host = url.User(u.User.Username()), listener.Addr().String()
	})
}

type pooler struct {
	options  PoolerOptions
	listener net.Listener
	running  sync.WaitGroup

	mu       sync.Mutex
	returned sync.Cond
	stopped  bool
	clients  map[net.Conn]bool
	idle     []*pgconn.HijackedConn // the connections to the server that are lent to nobody
}

func openUpstream(t testing.TB, address string) *pgconn.HijackedConn {
	t.Helper()
	connection, err := pgconn.Connect(context.Background(), address)
	if err != nil {
		t.Fatal(err)
	}
	upstream, err := connection.Hijack()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = upstream.Conn.Close() })
	return upstream
}

func (p *pooler) accept() {
	for {
		connection, err := p.listener.Accept()
		if err != nil {
			return // stopped
		}
		p.mu.Lock()
		if p.stopped {
			_ = connection.Close()
		} else {
			p.clients[connection] = true
			p.running.Go(func() { p.serve(connection) })
		}
		p.mu.Unlock()
	}
}

// stop disconnects everybody and returns when nobody is served any more.
func (p *pooler) stop() {
	_ = p.listener.Close()
	p.mu.Lock()
	p.stopped = true
	for connection := range p.clients {
		_ = connection.Close()
	}
	p.mu.Unlock()
	p.returned.Broadcast()
	p.running.Wait()
}

// lend waits for a connection that is free. It returns nil when the pooler stops.
func (p *pooler) lend() *pgconn.HijackedConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.idle) == 0 && !p.stopped {
		p.returned.Wait()
	}
	if p.stopped {
		return nil
	}
	next := len(p.idle) - 1
	if p.options.RoundRobin {
		next = 0
	}
	lent := p.idle[next]
	p.idle = slices.Delete(p.idle, next, next+1)
	return lent
}

func (p *pooler) takeBack(lent *pgconn.HijackedConn) {
	p.mu.Lock()
	p.idle = append(p.idle, lent)
	p.mu.Unlock()
	p.returned.Signal()
}
