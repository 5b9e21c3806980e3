package workflows_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/workflows"
)

// TestTheWorkflowObeys runs the courses in testdata/course. Each lists what the activities
// answer, in order, and prints what the workflow does:
//
//	run [from-row] [wake-at=D] [cancel-at=D]  with a signal, or a cancellation in Temporal, after D
//	ACTIVITY: STEP          the activity's progress: persist, answer, invoke, wait, reconcile, renew, settle, park, stop STATE, reject CODE
//	invoke: OUTCOME         the attempt's evidence
//	invoke: nothing, STEP   no attempt was granted
//	ACTIVITY: down          it fails as a local activity, until it is scheduled as a normal one
//	invoke: lost            the activity fails
//	... again               the refusal of generation 1 is decided on again for the request
//	... & wake, ... & cancel  while it runs, a signal comes, or somebody cancels the workflow
//
// Run with -rewrite to write what the workflow does now.
func TestTheWorkflowObeys(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/course", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "run" {
				d.Fatalf(t, "unknown command %q", d.Cmd)
			}
			in := input()
			if d.HasArg("from-row") {
				in.Request = nil
			}
			c := &course{answers: strings.Split(d.Input, "\n")}
			environment := c.environment()
			for name, happen := range map[string]func(){"wake-at": c.signal, "cancel-at": environment.CancelWorkflow} {
				if d.HasArg(name) {
					var at string
					d.ScanArgs(t, name, &at)
					delay, err := time.ParseDuration(at)
					if err != nil {
						d.Fatalf(t, "%s: %v", name, err)
					}
					environment.RegisterDelayedCallback(happen, delay)
				}
			}
			environment.ExecuteWorkflow(workflows.Type, in)
			return c.told(environment)
		})
	})
}

func input() activities.Input {
	r := &activities.Request{Tool: "payments.capture", RequestKey: "order-4711", Payload: []byte(`{}`),
		Context: intent.EffectContext{Tenant: "acme", Principal: "till-7"}}
	return activities.Input{IntentID: intent.IntentID("acme", "order-4711"), Request: r, Traceparent: "00-caller"}
}

// patient does not take a workflow for deadlocked that a busy machine keeps waiting for a second.
var patient = worker.Options{DeadlockDetectionTimeout: time.Minute}

// course is a run of the workflow with activities that are faked by data.
type course struct {
	mu      sync.Mutex
	answers []string
	trace   []string
	version int64
	// during, if set, is called before each activity answers.
	during func(activity string)
	// signal and cancel reach the running workflow.
	signal, cancel func()
}

func (c *course) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trace = append(c.trace, fmt.Sprintf(format, args...))
}

// environment returns a test environment that runs the workflow under its own id.
func (c *course) environment() *testsuite.TestWorkflowEnvironment {
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	e := suite.NewTestWorkflowEnvironment()
	e.SetWorkerOptions(patient)
	c.signal, c.cancel = func() { e.SignalWorkflow(workflows.SignalWake, nil) }, e.CancelWorkflow
	e.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: workflows.ID(input().IntentID), TaskQueue: "writ", WorkflowTaskTimeout: workflows.TaskTimeout})
	e.RegisterWorkflowWithOptions(c.workflow, workflow.RegisterOptions{Name: workflows.Type})
	e.SetOnTimerScheduledListener(func(_ string, d time.Duration) {
		if d > 500*time.Millisecond { // shorter ones space the tries of a local activity
			c.note("timer %s", d)
		}
	})
	for name, fake := range map[string]any{
		activities.NameAuthorize: func(ctx context.Context, in activities.Input) (activities.Progress, error) {
			return c.step(ctx, in, "")
		},
		activities.NamePersist: func(ctx context.Context, in activities.PersistInput) (activities.Progress, error) {
			said := " under " + string(in.Decision)
			if in.DecidedAgain > 0 {
				said += fmt.Sprintf(" in the place of refusal %d", in.DecidedAgain)
			}
			return c.step(ctx, in.Input, said)
		},
		activities.NameJournal: func(ctx context.Context, in activities.JournalInput) (activities.Progress, error) {
			said := ""
			if in.Evidence != nil {
				said += fmt.Sprintf(" attempt %d %s", in.Evidence.Attempt, in.Evidence.Outcome)
			}
			if in.Decision != nil {
				said += " under " + string(in.Decision)
			}
			return c.step(ctx, in.Input, said)
		},
		activities.NameInvoke: c.invoke,
		activities.NameCancel: func(ctx context.Context, in activities.Input) (activities.Progress, error) {
			return c.step(ctx, in, "")
		},
		activities.NameReconcile: func(ctx context.Context, in activities.ReconcileInput) (activities.Progress, error) {
			answer, err := c.next(ctx)
			if err != nil {
				return activities.Progress{}, err
			}
			c.note("normal reconcile %s, version %d, heartbeats %s, trace %s", in.Tool, in.Version, activity.GetInfo(ctx).HeartbeatTimeout, in.Traceparent)
			if answer == "lost" {
				return activities.Progress{}, errors.New("the worker is lost")
			}
			return c.progress(answer), nil
		},
	} {
		e.RegisterActivityWithOptions(fake, activity.RegisterOptions{Name: name})
	}
	return e
}

// workflow is ToolExecute; it notes what stands in the Temporal UI at the end.
func (c *course) workflow(ctx workflow.Context, in converter.RawValue) (workflows.Result, error) {
	result, err := workflows.ToolExecute(ctx, in)
	shown := workflow.GetTypedSearchAttributes(ctx)
	for _, name := range []string{"WritTool", "WritTenant", "WritRequestKey", "WritState"} {
		if value, ok := shown.GetKeyword(temporal.NewSearchAttributeKeyKeyword(name)); ok {
			c.note("%s = %s", name, value)
		}
	}
	return result, err
}

// next is the answer that the data has for the activity.
func (c *course) next(ctx context.Context) (answer string, err error) {
	info := activity.GetInfo(ctx)
	if c.during != nil {
		c.during(info.ActivityType.Name)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.answers) == 0 {
		return "", temporal.NewNonRetryableApplicationError("the course has no more answers", "course", nil)
	}
	name, answer, _ := strings.Cut(c.answers[0], ": ")
	if name != info.ActivityType.Name {
		return "", temporal.NewNonRetryableApplicationError(fmt.Sprintf("the course expects %s and not %s", name, info.ActivityType.Name), "course", nil)
	}
	if answer == "down" && info.IsLocalActivity {
		return "", errors.New("the database does not answer")
	}
	c.answers = c.answers[1:]
	if before, ok := strings.CutSuffix(answer, " & wake"); ok {
		answer = before
		c.signal()
	}
	if before, ok := strings.CutSuffix(answer, " & cancel"); ok {
		answer = before
		c.cancel()
	}
	if answer == "down" {
		_, answer, _ = strings.Cut(c.answers[0], ": ")
		c.answers = c.answers[1:]
	}
	return answer, nil
}

func (c *course) step(ctx context.Context, in activities.Input, said string) (activities.Progress, error) {
	answer, err := c.next(ctx)
	if err != nil {
		return activities.Progress{}, err
	}
	info := activity.GetInfo(ctx)
	how, from := "local ", " from the row"
	if !info.IsLocalActivity {
		how = "normal "
	}
	if in.Request != nil {
		from = " with the request"
	}
	c.note("%s%s%s%s", how, info.ActivityType.Name, from, said)
	return c.progress(answer), nil
}

func (c *course) invoke(ctx context.Context, in activities.InvokeInput) (activities.InvokeOutput, error) {
	answer, err := c.next(ctx)
	if err != nil {
		return activities.InvokeOutput{}, err
	}
	info := activity.GetInfo(ctx)
	how, what := "normal", fmt.Sprintf("version %d", in.Version)
	if info.IsLocalActivity {
		how = "local"
	}
	if in.Answer != nil {
		what = "without a row"
	}
	c.note("%s invoke %s, %s, heartbeats %s, trace %s", how, in.Tool, what, info.HeartbeatTimeout, in.Traceparent)
	if answer == "lost" {
		return activities.InvokeOutput{}, errors.New("the worker is lost")
	}
	if step, ok := strings.CutPrefix(answer, "nothing, "); ok {
		return activities.InvokeOutput{Progress: c.progress(step)}, nil
	}
	return activities.InvokeOutput{Evidence: &outbox.Evidence{Attempt: 1, Outcome: intent.Outcome(answer)}}, nil
}

// progress makes what an activity answers of the data's words.
func (c *course) progress(answer string) (p activities.Progress) {
	answer, again := strings.CutSuffix(answer, " again")
	defer func() {
		if again {
			p.DecidedAgain = 1
		}
	}()
	kind, detail, _ := strings.Cut(answer, " ")
	p = activities.Progress{
		Step:      intent.Step{Kind: intent.StepKind(kind), Reason: "because"},
		Labels:    activities.Labels{Tool: "payments.capture", Tenant: "acme", RequestKey: "order-4711"},
		TimeoutMS: 60_000, HeartbeatMS: 2_000,
	}
	if kind == string(activities.StepPersist) || kind == string(activities.StepAnswer) {
		p.Traceparent = "00-caller"
		p.Decision = []byte(`{"allow":true}`)
		return p
	}
	if kind == string(activities.StepReject) {
		p.Rejection = &activities.Rejection{Code: intent.Code(detail), Message: "no"}
		return p
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.version++
	p.Version, p.State, p.Traceparent = c.version, intent.Invoking, "00-row"
	if kind == string(intent.Stop) {
		p.State = intent.State(detail)
	}
	if kind == string(intent.Wait) {
		p.WaitMS = 1500
	}
	return p
}

// told is what the workflow did and how it ended.
func (c *course) told(e *testsuite.TestWorkflowEnvironment) string {
	c.mu.Lock()
	lines := c.trace
	c.mu.Unlock()
	var result workflows.Result
	switch err := e.GetWorkflowResult(&result); {
	case !e.IsWorkflowCompleted():
		lines = append(lines, "it did not end")
	case err != nil:
		why := err.Error()
		var application *temporal.ApplicationError
		if errors.As(err, &application) {
			why = application.Message()
		}
		lines = append(lines, "failed: "+why)
	case result.Rejection != nil:
		lines = append(lines, fmt.Sprintf("rejected: %s", result.Rejection.Code))
	case result.DecidedAgain > 0:
		lines = append(lines, fmt.Sprintf("result: %s, refusal %d decided again", result.State, result.DecidedAgain))
	default:
		lines = append(lines, "result: "+string(result.State))
	}
	if len(c.answers) > 0 {
		lines = append(lines, fmt.Sprintf("never asked for: %q", c.answers))
	}
	return strings.Join(lines, "\n")
}
