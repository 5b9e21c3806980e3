package effecthttp

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"writ/internal/killpoint"
)

// urlVariable makes the test below send one request and nothing else.
const urlVariable = "EFFECTHTTP_TEST_URL"

func TestTheKillPointDuringTheCallIsReachedWhenTheRequestHasLeft(t *testing.T) {
	large := bytes.Repeat([]byte("x"), 200<<10) // many writes on the connection
	if url := os.Getenv(urlVariable); url != "" {
		_, err := newClient(t, Config{BaseURL: url}).Do(t.Context(), newInvocation(), Request{Path: "/", Body: large})
		t.Fatalf("the call returned %v, it should have been killed", err)
	}
	t.Parallel()
	arrived := make(chan int, 1)
	server, _ := serve(t, func(_ http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(io.Discard, r.Body)
		arrived <- int(n)
		<-r.Context().Done()
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second) // kills a child that passes the point
	defer cancel()
	reached := filepath.Join(t.TempDir(), "reached")
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^"+t.Name()+"$")
	child.Env = append(os.Environ(), urlVariable+"="+server.URL,
		killpoint.EnvPoint+"="+string(killpoint.DuringCall), killpoint.EnvFile+"="+reached)
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	poll := time.NewTicker(5 * time.Millisecond)
	defer poll.Stop()
	for written := []byte(nil); len(written) == 0; {
		var err error
		if written, err = os.ReadFile(reached); err != nil && !errors.Is(err, fs.ErrNotExist) {
			t.Fatal(err)
		}
		select {
		case <-poll.C:
		case <-ctx.Done():
			t.Fatal("the point was not reached")
		}
	}
	if err := child.Process.Kill(); err != nil {
		t.Error(err)
	}
	_ = child.Wait() // "signal: killed"
	// The process is gone: what arrives now had left it before.
	select {
	case n := <-arrived:
		if n != len(large) {
			t.Errorf("%d bytes of the body had left, want all %d", n, len(large))
		}
	case <-time.After(20 * time.Second):
		t.Error("no request had left")
	}
}
