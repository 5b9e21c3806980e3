package workflows_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"writ/activities"
	"writ/intent"
	"writ/workflows"
)

// accept sends an update to the workflow and returns what it will have answered.
func accept(t *testing.T, e *testsuite.TestWorkflowEnvironment) *workflows.Accepted {
	t.Helper()
	var answer workflows.Accepted
	answered := false
	e.RegisterDelayedCallback(func() {
		e.UpdateWorkflow(workflows.UpdateAccepted, "", &testsuite.TestUpdateCallback{
			OnAccept: func() {},
			OnReject: func(err error) { t.Errorf("the update was refused: %v", err) },
			OnComplete: func(result any, err error) {
				answered = true
				if accepted, ok := result.(workflows.Accepted); err == nil && ok {
					answer = accepted
				} else {
					t.Errorf("the update answered %v, %v", result, err)
				}
			},
		})
	}, 0)
	t.Cleanup(func() {
		if !answered {
			t.Error("the update was never answered")
		}
	})
	return &answer
}

func TestAcceptedIsSaidWhenTheRowIsCommittedAndNotAtTheEnd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answers  []string
		state    intent.State
		rejected intent.Code
	}{
		"a new intent":       {[]string{"authorize: persist", "persist: wait", "authorize: invoke", "invoke: applied", "journal: stop completed"}, intent.Invoking, ""},
		"one that has ended": {[]string{"authorize: stop completed"}, intent.Completed, ""},
		"a rejected request": {[]string{"authorize: reject idempotency_conflict"}, "", intent.CodeIdempotencyConflict},
		"a refused one":      {[]string{"authorize: persist", "persist: stop refused"}, intent.Refused, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := &course{answers: tc.answers}
			e := c.environment()
			answer := accept(t, e)
			e.ExecuteWorkflow(workflows.Type, input())
			if err := e.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if answer.State != tc.state || (answer.Rejection != nil) != (tc.rejected != "") {
				t.Fatalf("%+v", answer)
			}
			if tc.rejected != "" && answer.Rejection.Code != tc.rejected {
				t.Errorf("%+v", answer.Rejection)
			}
		})
	}
}

func TestTheStatusIsTheLastProgress(t *testing.T) {
	t.Parallel()
	c := &course{answers: []string{"authorize: persist", "persist: wait", "authorize: stop completed"}}
	e := c.environment()
	var during, after activities.Progress
	status := func(p *activities.Progress) {
		value, err := e.QueryWorkflow(workflows.QueryStatus)
		if err == nil {
			err = value.Get(p)
		}
		if err != nil {
			t.Error(err)
		}
	}
	e.RegisterDelayedCallback(func() { status(&during) }, time.Second) // within the wait of 1.5 s
	e.ExecuteWorkflow(workflows.Type, input())
	status(&after)
	if during.Step.Kind != intent.Wait || during.State != intent.Invoking || during.Labels.Tool != "payments.capture" {
		t.Errorf("during the wait: %+v", during)
	}
	if after.Step.Kind != intent.Stop || after.State != intent.Completed {
		t.Errorf("after the end: %+v", after)
	}
}

func TestALongHistoryGoesOnInANewRunFromTheRow(t *testing.T) {
	t.Parallel()
	c := &course{answers: []string{"authorize: persist", "persist: invoke", "invoke: unknown", "journal: wait"}}
	e := c.environment()
	c.during = func(activity string) {
		if activity == activities.NameJournal {
			e.SetContinueAsNewSuggested(true)
		}
	}
	e.ExecuteWorkflow(workflows.Type, input())
	var next *workflow.ContinueAsNewError
	if err := e.GetWorkflowError(); !errors.As(err, &next) {
		t.Fatalf("%v", err)
	}
	if next.WorkflowType.Name != workflows.Type {
		t.Errorf("it goes on as %q", next.WorkflowType.Name)
	}
	if told := c.told(e); strings.Contains(told, "timer") {
		t.Errorf("it waited in the old run: %s", told)
	}
}

func TestARunUnderAnotherIDDrivesNothing(t *testing.T) {
	t.Parallel()
	c := &course{}
	e := c.environment()
	e.SetStartWorkflowOptions(client.StartWorkflowOptions{ID: "tool.execute/mine", TaskQueue: "writ"})
	answer := accept(t, e)
	e.ExecuteWorkflow(workflows.Type, input())
	if told := c.told(e); !strings.HasSuffix(told, "rejected: intent_id_mismatch") || strings.Contains(told, "authorize") {
		t.Errorf("%s", told)
	}
	if answer.Rejection == nil || answer.Rejection.Error().Effect != intent.NotApplied {
		t.Errorf("%+v", answer)
	}
}

func TestEveryDoorStartsAnIntentUnderTheSameOptions(t *testing.T) {
	t.Parallel()
	in := input()
	labels := activities.Labels{Tool: "payments.capture", Tenant: "acme", RequestKey: "order-4711"}
	o := workflows.StartOptions(in.IntentID, "canary", labels)
	if o.ID != "tool.execute/"+in.IntentID.String() || o.TaskQueue != "canary" || o.WorkflowExecutionErrorWhenAlreadyStarted || o.WorkflowRunTimeout != 0 || o.WorkflowExecutionTimeout != 0 {
		t.Errorf("%+v", o)
	}
	if !strings.Contains(o.StaticSummary, "payments.capture") || !strings.Contains(o.StaticSummary, "order-4711") || o.TypedSearchAttributes.Size() != 4 {
		t.Errorf("%q, %d search attributes", o.StaticSummary, o.TypedSearchAttributes.Size())
	}
}

func TestAStartThatIsNoInputEndsAsARejection(t *testing.T) {
	t.Parallel()
	for name, arguments := range map[string][]any{
		"nothing": {}, "a string": {"x"}, "a list": {[]int{1}}, "bytes": {[]byte(`{"intent_id":"x"}`)}, "an object without an id": {map[string]any{"request": nil}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var suite testsuite.WorkflowTestSuite
			e := suite.NewTestWorkflowEnvironment()
			e.SetWorkerOptions(patient)
			e.RegisterWorkflowWithOptions(workflows.ToolExecute, workflow.RegisterOptions{Name: workflows.Type})
			e.ExecuteWorkflow(workflows.Type, arguments...)
			var result workflows.Result
			if err := e.GetWorkflowError(); err != nil {
				t.Fatal(err)
			}
			if err := e.GetWorkflowResult(&result); err != nil {
				t.Fatal(err)
			}
			if result.Rejection == nil || result.Rejection.Code != intent.CodeInvalidRequest || result.Rejection.Message == "" {
				t.Errorf("%+v", result.Rejection)
			}
		})
	}
}
