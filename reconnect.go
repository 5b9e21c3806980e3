package writ

import (
	"time"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/backoff"
)

// The pauses between two attempts to reach a Temporal that is away. The SDK's grow to 10 s, which is
// added to every outage; an attempt a second from each process costs Temporal nothing.
const (
	firstConnectPause = 200 * time.Millisecond
	lastConnectPause  = time.Second
	// connectTimeout bounds one attempt. It is the SDK's.
	connectTimeout = 20 * time.Second
)

// reconnectSoon makes a connection look for Temporal about once a second. Dial options of the host
// come after these, and win.
func reconnectSoon(o *client.Options) {
	pauses := backoff.DefaultConfig
	pauses.BaseDelay, pauses.MaxDelay = firstConnectPause, lastConnectPause
	soon := grpc.WithConnectParams(grpc.ConnectParams{Backoff: pauses, MinConnectTimeout: connectTimeout})
	o.ConnectionOptions.DialOptions = append([]grpc.DialOption{soon}, o.ConnectionOptions.DialOptions...)
}
