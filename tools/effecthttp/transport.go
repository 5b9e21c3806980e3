package effecthttp

import (
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"time"
)

// transports are the ways to the provider.
type transports struct {
	// reusing keeps connections alive. A provider may close one just as the next request is
	// written to it; the outcome is then unknown, and sending again with the same key
	// settles it.
	reusing *http.Transport
	// fresh opens a connection for each request. Requests without a key use it: nobody
	// can settle an unknown outcome for them, so the race above must not make any.
	fresh *http.Transport
	// asking carries lookups. They need no permit, and a connection that an effect left
	// behind still has that effect's.
	asking *http.Transport
}

// newTransports prepares clones of base, or of Go's default transport if base is nil.
func newTransports(base *http.Transport) (transports, error) {
	if base == nil {
		base = http.DefaultTransport.(*http.Transport).Clone()
		base.MaxIdleConnsPerHost = base.MaxIdleConns // one provider is the only host
	} else if hasDeprecatedDial(base) {
		return transports{}, errors.New("the transport must use DialContext and DialTLSContext, not Dial and DialTLS")
	}
	reusing := restrict(base)
	fresh := restrict(base)
	fresh.DisableKeepAlives = true
	return transports{reusing: reusing, fresh: fresh, asking: base.Clone()}, nil
}

func hasDeprecatedDial(t *http.Transport) bool {
	//lint:ignore SA1019 to refuse them is the point: they would go around the gate
	return t.Dial != nil || t.DialTLS != nil
}

// restrict returns a clone of base that cannot write a request without its permit.
func restrict(base *http.Transport) *http.Transport {
	t := base.Clone()
	// HTTP/2 shares a connection between requests and sends one again by itself after GOAWAY
	// or a refused stream. A permit for a connection would say nothing there.
	t.Protocols = new(http.Protocols)
	t.Protocols.SetHTTP1(true)
	t.ForceAttemptHTTP2 = false
	t.TLSNextProto = map[string]func(string, *tls.Conn) http.RoundTripper{}
	if t.TLSClientConfig != nil {
		t.TLSClientConfig.NextProtos = nil
	}
	// The answer's bytes are kept as they were sent.
	t.DisableCompression = true
	dial := t.DialContext
	if dial == nil {
		dial = (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	t.DialContext = gated(dial)
	if t.DialTLSContext != nil {
		t.DialTLSContext = gated(t.DialTLSContext)
	}
	return t
}
