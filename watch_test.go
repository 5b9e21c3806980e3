package writ

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
	"writ/internal/pgtest"
)

// orderID is the id of the intent that capture asks for.
var orderID = intent.IntentID(DefaultTenant, "order-4711")

func TestAWatchShowsEachChangeAndReturnsWhatExecuteReturns(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.accept(t, capture)
	var seen []intent.State
	done, err := e.Watch(t.Context(), orderID, func(v Intent) error {
		if seen = append(seen, v.State); len(seen) == 1 {
			e.complete(t, capture)
		}
		return nil
	})
	if err != nil || !slices.Equal(seen, []intent.State{intent.Recorded, intent.Completed}) {
		t.Errorf("saw %v; %v", seen, err)
	}
	executed, err := e.Execute(t.Context(), capture)
	if err != nil || !reflect.DeepEqual(done, executed) {
		t.Errorf("the watch returned\n%+v, and execute\n%+v, %v", done, executed, err)
	}
	if len(e.temporal.started) != 0 {
		t.Error("a workflow was started")
	}

	again, err := e.Watch(t.Context(), orderID, nil)
	if err != nil || !reflect.DeepEqual(again, executed) {
		t.Errorf("of an intent that has ended: %+v, %v", again, err)
	}
}

func TestAWatchThatIsStoppedSaysThatTheIntentGoesOn(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.accept(t, capture)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done, err := e.Watch(ctx, orderID, func(Intent) error {
		cancel()
		return nil
	})
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != intent.CodeNotYetKnown || failure.Effect != intent.Unknown || !failure.TryAgain ||
		!errors.Is(err, context.Canceled) || !strings.Contains(failure.Message, "goes on") || done.Intent.State != intent.Recorded {
		t.Errorf("%+v, %v", done, err)
	}
	if _, err := e.Watch(ctx, orderID, nil); intent.CodeOf(err) != intent.CodeNotYetKnown || !strings.Contains(err.Error(), orderID.String()) {
		t.Errorf("before it began: %v", err)
	}
}

func TestAWatchThatIsNoLongerWantedEndsWithItsWatchersError(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.accept(t, capture)
	// An error of the watcher's own database is not taken for one of the outbox.
	enough := fmt.Errorf("enough: %w", intent.Errorf(intent.CodeDatabaseUnavailable, "mine"))
	done, err := e.Watch(t.Context(), orderID, func(Intent) error { return enough })
	if err != enough || done.Intent.ID != orderID {
		t.Errorf("%+v, %v", done, err)
	}
}

func TestWhatIsNotThereIsNotWatched(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	_, err := e.Watch(t.Context(), orderID, func(Intent) error { t.Error("a change was seen"); return nil })
	if intent.CodeOf(err) != intent.CodeIntentNotFound {
		t.Errorf("%v", err)
	}
	e.pool.Close()
	if _, err := e.Watch(t.Context(), orderID, nil); intent.CodeOf(err) != intent.CodeDatabaseUnavailable {
		t.Errorf("with a database that does not answer: %v", err)
	}
}

func TestAWatchOutlivesAnOutageOfPostgreSQL(t *testing.T) {
	t.Parallel()
	database := pgtest.Database(t)
	e := newEngineOver(t, database)
	door := doorOf(t, database)
	e.accept(t, capture)
	noticed := make(noticer, 10)
	e.log = slog.New(noticed)

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	type end struct {
		done Execution
		err  error
	}
	ended := make(chan end)
	began := make(chan struct{}, 10)
	go func() {
		done, err := e.Watch(ctx, orderID, func(Intent) error { began <- struct{}{}; return nil })
		ended <- end{done, err}
	}()
	<-began
	door(false)
	select {
	case said := <-noticed:
		if !strings.Contains(said, "watched on") {
			t.Errorf("logged %q", said)
		}
	case <-ctx.Done():
		t.Fatal("nothing was logged of the outage")
	}
	door(true)
	e.pool.Reset() // the worker's connections were ended too
	e.complete(t, capture)
	if got := <-ended; got.err != nil || got.done.Intent.State != intent.Completed {
		t.Errorf("%+v, %v", got.done, got.err)
	}
	if more := len(noticed); more > 0 {
		t.Errorf("one outage was logged %d times more", more)
	}
}

// doorOf returns a function that lets connections into the database, or ends them all and
// lets none in.
func doorOf(t *testing.T, database string) func(open bool) {
	t.Helper()
	u, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	name := strings.TrimPrefix(u.Path, "/")
	u.Path = "/postgres"
	conn, err := pgx.Connect(t.Context(), u.String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return func(open bool) {
		statements := []string{fmt.Sprintf("ALTER DATABASE %s ALLOW_CONNECTIONS %v", name, open)}
		if !open {
			statements = append(statements, fmt.Sprintf("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '%s'", name))
		}
		for _, statement := range statements {
			if _, err := conn.Exec(t.Context(), statement); err != nil {
				t.Fatalf("%s: %v", statement, err)
			}
		}
	}
}

// noticer is a log that hands its messages on.
type noticer chan string

func (n noticer) Enabled(context.Context, slog.Level) bool { return true }
func (n noticer) Handle(_ context.Context, r slog.Record) error {
	n <- r.Message
	return nil
}
func (n noticer) WithAttrs([]slog.Attr) slog.Handler { return n }
func (n noticer) WithGroup(string) slog.Handler      { return n }
