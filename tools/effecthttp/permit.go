package effecthttp

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http/httptrace"
	"sync"
	"sync/atomic"
	"time"

	"writ/internal/killpoint"
)

// Why a write was refused. They end up inside a failure's text; what is decided from is
// the permit itself.
var (
	errTooLate    = errors.New("the time to send by has passed")
	errWithdrawn  = errors.New("the request was given up before it was sent")
	errSecondSend = errors.New("the request was already sent on another connection")
)

// permit is the right of one request to be written to one connection, once. It stands
// between the transport and the socket, so that what it says about "nothing was sent"
// holds whatever the transport tried, also in goroutines that outlive the round trip.
type permit struct {
	sendBy time.Time
	now    func() time.Time
	body   *countedBody // tells when the last of the request has left
	key    string       // what the request is called at a kill point

	mu        sync.Mutex
	used      *gatedConn // the connection that may have carried the request
	ungated   bool       // a connection that we did not make carries the request
	late      bool       // a write came after sendBy
	withdrawn bool
}

// allow decides about a write to c. It is asked before each write, and the first one that
// it allows uses the permit up for every other connection.
func (p *permit) allow(c *gatedConn) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.used == c:
		return nil
	case p.used != nil:
		return errSecondSend
	case p.withdrawn:
		return errWithdrawn
	case passed(p.now(), p.sendBy):
		p.late = true
		return errTooLate
	default:
		p.used = c
		return nil
	}
}

// passed reports whether t lies before now by the monotonic clock or by the wall clock:
// the monotonic one stands still while a machine is suspended, and the lease does not.
func passed(now, t time.Time) bool {
	return now.After(t) || now.Round(0).After(t.Round(0))
}

// withdraw ends the permit and tells whether the request may have been sent. If not, it
// will not be any more.
func (p *permit) withdraw() (maybeSent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.withdrawn = true
	return p.used != nil || p.ungated
}

// tooLate tells whether sendBy kept the request from being sent.
func (p *permit) tooLate() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.late
}

// attach puts the connection that the transport chose under the permit. Until then a
// connection may write what sets it up: handshakes, proxy requests.
func (p *permit) attach(info httptrace.GotConnInfo) {
	conn := info.Conn
	for conn != nil {
		if gated, ok := conn.(*gatedConn); ok {
			gated.setPermit(p)
			return
		}
		layered, ok := conn.(interface{ NetConn() net.Conn }) // *tls.Conn
		if !ok {
			break
		}
		conn = layered.NetConn()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ungated = true // assume the worst
}

// gatedConn is a connection whose writes need the permit of the request that uses it.
type gatedConn struct {
	net.Conn

	mu     sync.Mutex
	permit *permit
}

func (c *gatedConn) setPermit(p *permit) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.permit = p
}

func (c *gatedConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	p := c.permit
	c.mu.Unlock()
	if p == nil {
		return c.Conn.Write(b)
	}
	if err := p.allow(c); err != nil {
		return 0, err
	}
	n, err := c.Conn.Write(b)
	// httptrace.WroteRequest would come too early: it fires before the last bytes are flushed
	// to the connection. Here they have left. (Over TLS a last record may still follow.)
	if err == nil && p.body.left.Load() == 0 {
		killpoint.Reach(killpoint.DuringCall, p.key)
	}
	return n, err
}

// countedBody is a request body that knows how much of it the transport has yet to take.
type countedBody struct {
	content *bytes.Reader
	left    atomic.Int64
}

func newCountedBody(content []byte) *countedBody {
	b := &countedBody{content: bytes.NewReader(content)}
	b.left.Store(int64(len(content)))
	return b
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.content.Read(p)
	b.left.Add(int64(-n))
	return n, err
}

func (b *countedBody) Close() error { return nil }

type dialFunc = func(ctx context.Context, network, address string) (net.Conn, error)

// gated returns dial with its connections gated.
func gated(dial dialFunc) dialFunc {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &gatedConn{Conn: conn}, nil
	}
}
