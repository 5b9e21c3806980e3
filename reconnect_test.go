package writ_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"

	"writ"
)

func TestATemporalThatIsAwayIsLookedForEverySecond(t *testing.T) {
	t.Parallel()
	const enough = 12 // the SDK's own pauses would have grown to 10 s, and need over half a minute for so many
	looks := make(chan struct{}, 1000)
	dial := grpc.WithContextDialer(func(context.Context, string) (net.Conn, error) {
		looks <- struct{}{}
		return nil, errors.New("it is away")
	})
	recovery, err := writ.NewRecovery(writ.RecoveryConfig{Config: writ.Config{
		DatabaseURL: "postgres://writ@127.0.0.1:1/writ?connect_timeout=2",
		Temporal:    client.Options{ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{dial}}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer recovery.Close()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- recovery.Run(ctx) }()
	deadline := time.After(20 * time.Second)
	for n := range enough {
		select {
		case <-looks:
		case <-deadline:
			t.Fatalf("only %d looks in 20 s", n)
		}
	}
	cancel()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}
