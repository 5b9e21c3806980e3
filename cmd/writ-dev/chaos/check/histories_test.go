package check

import (
	"reflect"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
)

// payload is one payload of that encoding.
func payload(encoding, data string) *commonpb.Payloads {
	return &commonpb.Payloads{Payloads: []*commonpb.Payload{
		{Metadata: map[string][]byte{"encoding": []byte(encoding)}, Data: []byte(data)},
	}}
}

func scheduled(id int64, activity string) *historypb.HistoryEvent {
	return &historypb.HistoryEvent{
		EventId: id, EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED,
		Attributes: &historypb.HistoryEvent_ActivityTaskScheduledEventAttributes{
			ActivityTaskScheduledEventAttributes: &historypb.ActivityTaskScheduledEventAttributes{ActivityType: &commonpb.ActivityType{Name: activity}},
		},
	}
}

func started(of int64, attempt int32) *historypb.HistoryEvent {
	return &historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_STARTED,
		Attributes: &historypb.HistoryEvent_ActivityTaskStartedEventAttributes{
			ActivityTaskStartedEventAttributes: &historypb.ActivityTaskStartedEventAttributes{ScheduledEventId: of, Attempt: attempt},
		},
	}
}

func completed(of int64, result *commonpb.Payloads) *historypb.HistoryEvent {
	return &historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_ACTIVITY_TASK_COMPLETED,
		Attributes: &historypb.HistoryEvent_ActivityTaskCompletedEventAttributes{
			ActivityTaskCompletedEventAttributes: &historypb.ActivityTaskCompletedEventAttributes{ScheduledEventId: of, Result: result},
		},
	}
}

func ended(result *commonpb.Payloads) *historypb.HistoryEvent {
	return &historypb.HistoryEvent{
		EventType: enumspb.EVENT_TYPE_WORKFLOW_EXECUTION_COMPLETED,
		Attributes: &historypb.HistoryEvent_WorkflowExecutionCompletedEventAttributes{
			WorkflowExecutionCompletedEventAttributes: &historypb.WorkflowExecutionCompletedEventAttributes{Result: result},
		},
	}
}

func TestAHistoryTellsWhatItsInvocationsFoundAndHowItEnded(t *testing.T) {
	t.Parallel()
	var w Workflow
	reader := historyReader{workflow: &w, scheduled: map[int64]bool{}}
	for _, event := range []*historypb.HistoryEvent{
		scheduled(5, "invoke"), started(5, 1), completed(5, payload("json/plain", `{"progress":{},"evidence":{"attempt":1,"outcome":"not_applied"}}`)),
		scheduled(9, "invoke"), started(9, 2), completed(9, payload("json/plain", `{"progress":{},"evidence":{"attempt":2,"outcome":"applied"}}`)),
		scheduled(12, "invoke"), started(12, 1), completed(12, payload("json/plain", `{"progress":{}}`)), // no attempt was granted
		scheduled(15, "journal"), started(15, 7), completed(15, payload("json/plain", `{}`)),
		ended(payload("json/plain", `{"intent_id":"x","state":"completed"}`)),
	} {
		if err := reader.read(event); err != nil {
			t.Fatal(err)
		}
	}
	want := Workflow{Invocations: 3, Repeated: 1, Evidence: []HistoryEvidence{{1, "not_applied"}, {2, "applied"}}, Result: "completed"}
	if !reflect.DeepEqual(w, want) {
		t.Errorf("got %+v, want %+v", w, want)
	}
}

func TestAHistoryThatCannotBeReadIsNoGoodHistory(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]*historypb.HistoryEvent{
		"a sealed end":        ended(payload("binary/encrypted", "sealed")),
		"an end without word": ended(nil),
		"an evidence of text": completed(5, payload("json/plain", `{"evidence":"applied"}`)),
	} {
		reader := historyReader{workflow: &Workflow{}, scheduled: map[int64]bool{5: true}}
		if reader.read(event) == nil {
			t.Errorf("%s was read", name)
		}
	}
}
