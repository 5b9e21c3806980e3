package activities_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"

	"writ/activities"
	"writ/intent"
	"writ/tools"
)

func TestCancellingTheActivityDoesNotInterruptTheTool(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	var seen error
	b := start(t, nil, tools.New(opaque(), func(own context.Context, _ tools.Invocation) (tools.Result, error) {
		cancel() // Temporal lost interest while the request is on its way
		<-ctx.Done()
		seen = own.Err()
		return applied()
	}))
	in := ask("notifications.send")
	p := b.recorded(t, in)
	out, err := b.Invoke(ctx, invocation(p, in))
	if err != nil || seen != nil || out.Evidence.Outcome != intent.Applied {
		t.Errorf("the tool's context: %v; %+v, %v", seen, out.Evidence, err)
	}
	if a := b.row(t, in).Attempts[0]; a.Outcome != intent.Applied {
		t.Errorf("the answer was not recorded: %+v", a)
	}
}

func TestTheToolsContextEndsAtItsDeadline(t *testing.T) {
	t.Parallel()
	spec := opaque()
	spec.Timeout = 300 * time.Millisecond
	b := start(t, nil, tools.New(spec, func(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
		deadline, ok := ctx.Deadline()
		if !ok || !deadline.Equal(inv.Deadline()) {
			return tools.Result{}, tools.NotApplied(errors.New("the context has another deadline"))
		}
		<-ctx.Done()
		return tools.Result{}, ctx.Err()
	}))
	in := ask(spec.Name)
	out := b.invoke(t, b.recorded(t, in), in)
	if out.Evidence.Outcome != intent.Unknown || out.Evidence.Code != "tool_error" {
		t.Errorf("%+v", out.Evidence)
	}
}

// Five seconds long, because that is how long a worker may be stopping after a deadline.
func TestAnAnswerThatComesAfterTheLeaseIsRecorded(t *testing.T) {
	t.Parallel()
	spec := opaque()
	spec.Timeout = 300 * time.Millisecond
	release := make(chan struct{})
	b := start(t, nil, tools.New(spec, func(context.Context, tools.Invocation) (tools.Result, error) {
		<-release // a tool that ignores its deadline
		return applied()
	}))
	in := ask(spec.Name)
	out := b.invoke(t, b.recorded(t, in), in)
	if out.Evidence.Outcome != intent.Unknown || out.Evidence.Code != "deadline_exceeded" {
		t.Fatalf("%+v", out.Evidence)
	}
	fromRow := activities.Input{IntentID: in.IntentID}
	if p := b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence}); p.State != intent.InDoubt {
		t.Fatalf("%+v", p)
	}
	close(release)
	deadline := time.After(15 * time.Second)
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for b.row(t, in).Attempts[0].Outcome != intent.Applied {
		select {
		case <-poll.C:
		case <-deadline:
			t.Fatal("the late answer was lost")
		}
	}
	// It settles the parked intent, and recovery will see that it does.
	if row := b.row(t, in); row.DueAt.IsZero() {
		t.Errorf("nothing is due: %+v", row)
	}
	if p, _ := b.drive(t, fromRow); p.State != intent.Completed {
		t.Errorf("%+v", p)
	}
}

func TestAWorkerShowsThatItIsAliveWhileTheToolRuns(t *testing.T) {
	t.Parallel()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	environment := suite.NewTestActivityEnvironment()
	environment.SetTestTimeout(time.Minute)
	alive := make(chan struct{})
	var once sync.Once // the SDK itself spaces what it sends
	environment.SetOnActivityHeartbeatListener(func(*activity.Info, converter.EncodedValues) { once.Do(func() { close(alive) }) })
	b := start(t, nil, tools.New(keyed(), func(ctx context.Context, _ tools.Invocation) (tools.Result, error) {
		select {
		case <-alive:
			return applied()
		case <-ctx.Done():
			return tools.Result{}, ctx.Err()
		}
	}))
	in := ask("payments.capture")
	input := invocation(b.recorded(t, in), in)
	input.HeartbeatMS = 40
	environment.RegisterActivityWithOptions(b.Invoke, activity.RegisterOptions{Name: activities.NameInvoke})
	value, err := environment.ExecuteActivity(activities.NameInvoke, input)
	if err != nil {
		t.Fatal(err)
	}
	var out activities.InvokeOutput
	if err := value.Get(&out); err != nil || out.Evidence == nil || out.Evidence.Outcome != intent.Applied {
		t.Errorf("%+v, %v", out, err)
	}
}

func TestAKeyedToolsLostWorkerIsNoticedSoonAndAnOpaqueOnesLate(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		spec tools.Spec
		want time.Duration
	}{
		{read(), 2 * time.Second},
		{keyed(), 2 * time.Second},
		{opaque(), 30 * time.Second}, // a false alarm would manufacture doubt
	} {
		b, _ := hosting(t, tc.spec, applied)
		p := b.authorize(t, ask(tc.spec.Name, detached))
		if got := time.Duration(p.HeartbeatMS) * time.Millisecond; got != tc.want {
			t.Errorf("%s: %s", tc.spec.Name, got)
		}
		if got := time.Duration(p.TimeoutMS) * time.Millisecond; got <= tc.spec.Timeout+5*time.Second {
			t.Errorf("%s: the activity may take %s, which is not enough for a tool that uses its whole lease", tc.spec.Name, got)
		}
	}
}
