package chaos

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	toxiproxy "github.com/Shopify/toxiproxy/v2"
	"github.com/rs/zerolog"

	"writ/internal/loopback"
)

// link is a proxy before one part, that can be cut and slowed. What was cut comes back at
// the same address.
type link struct {
	name  string
	proxy *toxiproxy.Proxy
	turn  sync.Mutex // one fault at a time
}

// openLink puts a proxy before the upstream's address.
func openLink(name, upstream string) (*link, error) {
	port, err := loopback.FreePort()
	if err != nil {
		return nil, fmt.Errorf("open the link to %s: %w", name, err)
	}
	zerolog.SetGlobalLevel(zerolog.Disabled) // the proxies' toxics log there, and nothing else of this process does
	server := toxiproxy.NewServer(toxiproxy.NewMetricsContainer(nil), zerolog.Nop())
	l := &link{name: name, proxy: toxiproxy.NewProxy(server, name, loopback.Address(port), upstream)}
	if err := l.proxy.Start(); err != nil {
		return nil, fmt.Errorf("open the link to %s: %w", name, err)
	}
	return l, nil
}

// address is where the link listens.
func (l *link) address() string { return l.proxy.Listen }

// cut closes every connection and refuses new ones for that long. Like all faults of a link it
// waits for its turn, and then calls begun.
func (l *link) cut(ctx context.Context, lasts time.Duration, begun func()) error {
	l.turn.Lock()
	defer l.turn.Unlock()
	begun()
	l.proxy.Stop()
	wait(ctx, lasts)
	if err := l.proxy.Start(); err != nil {
		return fmt.Errorf("mend the link to %s: %w", l.name, err)
	}
	return nil
}

// reset lets new connections be made for that long, and resets each at its first bytes.
func (l *link) reset(ctx context.Context, lasts time.Duration, begun func()) error {
	return l.poison(ctx, lasts, begun,
		`{"name":"reset-up","type":"reset_peer","stream":"upstream","attributes":{"timeout":0}}`,
		`{"name":"reset-down","type":"reset_peer","stream":"downstream","attributes":{"timeout":0}}`)
}

// slow delays what goes either way for that long.
func (l *link) slow(ctx context.Context, lasts, latency time.Duration, begun func()) error {
	each := latency.Milliseconds() / 2
	return l.poison(ctx, lasts, begun,
		fmt.Sprintf(`{"name":"slow-up","type":"latency","stream":"upstream","attributes":{"latency":%d,"jitter":%d}}`, each, each/4),
		fmt.Sprintf(`{"name":"slow-down","type":"latency","stream":"downstream","attributes":{"latency":%d,"jitter":%d}}`, each, each/4))
}

// throttle lets through only that many kilobytes a second.
func (l *link) throttle(ctx context.Context, lasts time.Duration, kilobytes int, begun func()) error {
	return l.poison(ctx, lasts, begun,
		fmt.Sprintf(`{"name":"narrow-up","type":"bandwidth","stream":"upstream","attributes":{"rate":%d}}`, kilobytes),
		fmt.Sprintf(`{"name":"narrow-down","type":"bandwidth","stream":"downstream","attributes":{"rate":%d}}`, kilobytes))
}

// poison adds the toxics for that long.
func (l *link) poison(ctx context.Context, lasts time.Duration, begun func(), toxics ...string) (err error) {
	l.turn.Lock()
	defer l.turn.Unlock()
	begun()
	for _, toxic := range toxics {
		added, addErr := l.proxy.Toxics.AddToxicJson(strings.NewReader(toxic))
		if addErr != nil {
			return fmt.Errorf("disturb the link to %s: %w", l.name, addErr)
		}
		defer func() {
			err = errors.Join(err, l.proxy.Toxics.RemoveToxic(context.WithoutCancel(ctx), added.Name))
		}()
	}
	wait(ctx, lasts)
	return nil
}

// close ends the link.
func (l *link) close(context.Context) error {
	l.proxy.Stop()
	return nil
}
