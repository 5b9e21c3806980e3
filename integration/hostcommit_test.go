package integration

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/jackc/pgx/v5"

	"writ"
	"writ/intent"
)

// hostVariable makes this test program a host that enqueues a capture for that tenant, commits,
// and then does nothing more.
const hostVariable = "WRIT_TEST_HOST"

func captureFor(tenant, key string) writ.Request {
	return writ.Request{Tool: capture.tool, Payload: []byte(capture.payload), RequestKey: key, Tenant: tenant, Principal: "shop"}
}

// runHost is the host's main function.
func runHost(tenant string) int {
	err := enqueueIn(context.Background(), os.Getenv("DATABASE_URL"), captureFor(tenant, requestKey), nil)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Println(`{"committed":true}`)
	select {}
}

// enqueueIn enqueues in a transaction of a host, which ends as end says.
func enqueueIn(ctx context.Context, database string, r writ.Request, end error) error {
	host, err := pgx.Connect(ctx, database)
	if err != nil {
		return err
	}
	defer host.Close(ctx)
	return pgx.BeginFunc(ctx, host, func(tx pgx.Tx) error {
		if _, err := writ.Enqueue(ctx, tx, r, writ.EnqueueOptions{}); err != nil {
			return err
		}
		return end
	})
}

func TestWhatAHostCommitsHasItsEffectOnceAndWhatItRollsBackHasNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	fallen := errors.New("the customer left")
	if err := enqueueIn(t.Context(), w.database, captureFor(w.name, "withdrawn"), fallen); !errors.Is(err, fallen) {
		t.Fatal(err)
	}
	if err := enqueueIn(t.Context(), w.database, captureFor(w.name, requestKey), nil); err != nil {
		t.Fatal(err)
	}
	w.captured(t, requestKey)
	w.provider.effects(t, 1)
	if _, err := w.dial(t).Get(t.Context(), intent.IntentID(w.name, "withdrawn")); intent.CodeOf(err) != intent.CodeIntentNotFound {
		t.Errorf("what was rolled back: %v", err)
	}
}

func TestAHostThatWakesTheWorkersDoesNotWaitUntilTheyLook(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.database += "&application_name=" + w.name
	w.startWorkerWith(t, []string{"--dispatch-every", "1h"})
	eventually(t, "the worker listens", func(context.Context) error {
		var listeners int
		const listening = `SELECT count(*) FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND query LIKE '%regnamespace%' AND application_name = '`
		if query(t, w.database, listening+w.name+`'`, &listeners); listeners != 1 {
			return fmt.Errorf("%d connections listen", listeners)
		}
		return nil
	})
	if err := enqueueIn(t.Context(), w.database, captureFor(w.name, requestKey), nil); err != nil {
		t.Fatal(err)
	}
	host, err := pgx.Connect(t.Context(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer host.Close(t.Context())
	if err := writ.Wake(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	w.captured(t, requestKey)
	w.provider.effects(t, 1)
}

func TestAHostThatIsKilledRightAfterItsCommitHasItsEffectOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	host := start(t, "host", self, append(w.environment(), hostVariable+"="+w.name))
	if _, err := host.readyLine(); err != nil {
		t.Fatal(err)
	}
	host.kill()
	w.provider.effects(t, 0)
	w.startWorker(t)
	w.captured(t, requestKey)
	w.provider.effects(t, 1)
}

func TestAKeyThatIsEnqueuedAndAskedForAtOnceHasOneEffect(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	client := w.dial(t)
	const keys = 5
	ended := make(chan error, 2*keys)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for i := range keys {
		r := captureFor(w.name, fmt.Sprintf("order-%d", i))
		go func() { ended <- enqueueIn(ctx, w.database, r, nil) }()
		go func() { _, err := client.Execute(ctx, r); ended <- err }()
	}
	for range 2 * keys {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	for i := range keys {
		w.captured(t, fmt.Sprintf("order-%d", i))
	}
	w.provider.effects(t, keys)
}

// captured waits until the capture under the key is completed.
func (w *world) captured(t testing.TB, key string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done, err := w.dial(t).Watch(ctx, intent.IntentID(w.name, intent.RequestKey(key)), nil)
	if err != nil || done.Intent.State != intent.Completed {
		t.Fatalf("%s: %+v, %v", key, done.Intent, err)
	}
}
