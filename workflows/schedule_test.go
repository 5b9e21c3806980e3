package workflows_test

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"writ/activities"
	"writ/intent"
	"writ/workflows"
)

var nominalTime = temporal.NewSearchAttributeKeyTime("TemporalScheduledStartTime")

// scheduled is a run of tool.schedule; its children only keep what they were given.
func scheduled(t *testing.T, attributes ...temporal.SearchAttributeUpdate) (*testsuite.TestWorkflowEnvironment, map[string]activities.Input) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	e := suite.NewTestWorkflowEnvironment()
	children := map[string]activities.Input{}
	e.RegisterWorkflowWithOptions(func(ctx workflow.Context, in activities.Input) (workflows.Result, error) {
		children[workflow.GetInfo(ctx).WorkflowExecution.ID] = in
		return workflows.Result{IntentID: in.IntentID}, nil
	}, workflow.RegisterOptions{Name: workflows.Type})
	e.RegisterWorkflowWithOptions(workflows.ToolSchedule, workflow.RegisterOptions{Name: workflows.TypeScheduled})
	if err := e.SetTypedSearchAttributesOnStart(temporal.NewSearchAttributes(attributes...)); err != nil {
		t.Fatal(err)
	}
	e.ExecuteWorkflow(workflows.TypeScheduled, workflows.Scheduled{Schedule: "nightly", Request: activities.Request{
		Tool: "documents.purge", Payload: []byte(`{}`), Context: intent.EffectContext{Tenant: "acme", Principal: "till-7"},
	}})
	return e, children
}

func TestEachNominalTimeOfAScheduleIsOneIntent(t *testing.T) {
	t.Parallel()
	berlin := time.FixedZone("CET", 3600)
	e, children := scheduled(t, nominalTime.ValueSet(time.Date(2026, 3, 1, 4, 0, 0, 0, berlin)))
	var got workflows.Occurrence
	if err := e.GetWorkflowResult(&got); err != nil {
		t.Fatal(err)
	}
	const key = "schedule:nightly:2026-03-01T03:00:00Z"
	id := intent.IntentID("acme", key)
	in, ok := children[workflows.ID(id)]
	if got.RequestKey != key || got.IntentID != id || len(children) != 1 || !ok {
		t.Fatalf("%+v, %+v", got, children)
	}
	if r := in.Request; in.IntentID != id || r == nil || r.RequestKey != key || r.Tool != "documents.purge" || r.Context.Principal != "till-7" || !r.Detached {
		t.Errorf("the intent is asked for with %+v", in)
	}
}

func TestARunThatNoScheduleHasStartedAsksForNothing(t *testing.T) {
	t.Parallel()
	e, children := scheduled(t)
	if err := e.GetWorkflowError(); err == nil || !strings.Contains(err.Error(), "not_scheduled") || len(children) != 0 {
		t.Errorf("%v, %+v", err, children)
	}
}

func TestTheIDOfAScheduleNamesItsTenantAndItself(t *testing.T) {
	t.Parallel()
	for _, tenant := range []string{"acme", "acme/eu", "a:b/c@d"} {
		got, name, ok := workflows.ScheduleOf(workflows.ScheduleID(tenant, "nightly"))
		if got != tenant || name != "nightly" || !ok {
			t.Errorf("%q, %q, %t for %s", got, name, ok, tenant)
		}
	}
	for _, id := range []string{"", "nightly", "tool.schedule/", "tool.execute/acme/nightly"} {
		if _, _, ok := workflows.ScheduleOf(id); ok {
			t.Errorf("%q is taken for one", id)
		}
	}
}
