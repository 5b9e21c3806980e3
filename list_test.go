package writ

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"writ/intent"
	"writ/outbox"
)

func TestAListSaysHowEachIntentStandsAndNothingOfItsPayload(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.accept(t, capture)
	e.complete(t, capture)
	second := capture
	second.RequestKey = "order-4712"
	e.accept(t, second)

	page, err := e.List(t.Context(), ListFilter{Tenant: DefaultTenant})
	if err != nil || len(page.Intents) != 2 || page.Next != "" {
		t.Fatalf("%+v, %v", page, err)
	}
	for i, want := range []IntentSummary{
		{RequestKey: "order-4712", State: intent.Recorded, Effect: intent.NotApplied, Next: intent.Step{Kind: intent.Invoke, Attempt: 1, Reason: intent.ReasonFirstAttempt}},
		{RequestKey: "order-4711", State: intent.Completed, Effect: intent.Applied, Attempts: 1, Next: intent.Step{Kind: intent.Stop, Reason: intent.ReasonEnded}},
	} {
		got := page.Intents[i]
		want.ID, want.Tenant, want.Principal, want.Tool = intent.IntentID(DefaultTenant, want.RequestKey), DefaultTenant, "till-7", "payments.capture"
		want.Class, want.Generation, want.CreatedAt, want.EndedAt = intent.Keyed, 1, got.CreatedAt, got.EndedAt
		if !reflect.DeepEqual(got, want) || got.CreatedAt.IsZero() || got.EndedAt.IsZero() != (want.State == intent.Recorded) {
			t.Errorf("%+v, want\n%+v", got, want)
		}
	}
	written, err := json.Marshal(page)
	if err != nil || strings.Contains(string(written), "12.90") || strings.Contains(string(written), "suspected_duplicate_of") {
		t.Errorf("%s, %v", written, err)
	}
}

func TestAListGoesOnBehindItsLastPage(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	if page, err := e.List(t.Context(), ListFilter{}); err != nil || page.Intents == nil || page.Next != "" {
		t.Errorf("an empty list: %+v, %v", page, err)
	}
	for _, key := range []string{"order-1", "order-2", "order-3"} {
		r := capture
		r.RequestKey = key
		e.accept(t, r)
	}
	filter := ListFilter{Tool: "payments.capture", States: []intent.State{intent.Recorded}, Limit: 2}
	first, err := e.List(t.Context(), filter)
	if err != nil || len(first.Intents) != 2 || first.Next == "" {
		t.Fatalf("%+v, %v", first, err)
	}
	filter.After = first.Next
	second, err := e.List(t.Context(), filter)
	if err != nil || len(second.Intents) != 1 || second.Next != "" || second.Intents[0].RequestKey != "order-1" {
		t.Errorf("%+v, %v", second, err)
	}
}

func TestAFilterThatCannotBeUsedIsRefusedBeforeAnyIO(t *testing.T) {
	t.Parallel()
	c := &Client{store: outbox.New(nil)} // a pool that panics when it is used
	for _, tc := range []struct {
		filter ListFilter
		code   intent.Code
	}{
		{ListFilter{Tenant: "acme!"}, intent.CodeInvalidName},
		{ListFilter{States: []intent.State{"done"}}, intent.CodeInvalidFilter},
		{ListFilter{After: "behind the last one"}, intent.CodeInvalidCursor},
	} {
		page, err := c.List(t.Context(), tc.filter)
		if intent.CodeOf(err) != tc.code || page.Intents != nil {
			t.Errorf("%+v: %+v, %v", tc.filter, page, err)
		}
	}
}
