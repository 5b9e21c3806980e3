package tools_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/invocation"
	"writ/tools"
)

func TestAnErrorSaysWhatItShowsOfTheEffect(t *testing.T) {
	t.Parallel()
	cause := errors.New("connection refused")
	var target struct{ Amount int }
	undecodable := invocation.New(invocation.Fields{Tool: "payments.capture", Payload: []byte(`{"amount":"x"}`)}).Decode(&target)
	for name, tc := range map[string]struct {
		class intent.Class
		err   error
		want  intent.Outcome
		code  string
		final bool
	}{
		"not applied":                     {intent.Keyed, tools.NotApplied(cause).WithCode("refused"), intent.NotApplied, "refused", false},
		"not applied, final":              {intent.Opaque, tools.NotApplied(cause).AsFinal(), intent.NotApplied, "tool_error", true},
		"unknown":                         {intent.Keyed, tools.Unknown(cause), intent.Unknown, "tool_error", false},
		"wrapped":                         {intent.Keyed, fmt.Errorf("capture: %w", tools.NotApplied(cause)), intent.NotApplied, "tool_error", false},
		"a bare error of a keyed tool":    {intent.Keyed, cause, intent.Unknown, "tool_error", false},
		"a bare error of an opaque tool":  {intent.Opaque, cause, intent.Unknown, "tool_error", false},
		"a bare error of a read":          {intent.Read, cause, intent.NotApplied, "tool_error", false},
		"a deadline":                      {intent.Opaque, context.DeadlineExceeded, intent.Unknown, "tool_error", false},
		"joined with one that is unknown": {intent.Opaque, errors.Join(tools.NotApplied(cause), tools.Unknown(cause)), intent.Unknown, "tool_error", false},
		"joined with a bare one":          {intent.Keyed, errors.Join(tools.NotApplied(cause), cause), intent.Unknown, "tool_error", false},
		"joined, and all are certain":     {intent.Opaque, errors.Join(tools.NotApplied(cause).WithCode("a"), tools.NotApplied(cause)), intent.NotApplied, "a", false},
		// A tool may decode again after it sent something.
		"a payload that is not decoded": {intent.Opaque, undecodable, intent.Unknown, "tool_error", false},
	} {
		f := tools.Classify(tc.class, tc.err)
		if f.Outcome != tc.want || f.Code != tc.code || f.Final != tc.final {
			t.Errorf("%s: %+v", name, f)
		}
		if !errors.Is(f, cause) && !errors.Is(f, undecodable) && !errors.Is(f, context.DeadlineExceeded) {
			t.Errorf("%s: the cause is lost: %v", name, f)
		}
	}
}

func TestAFailureTellsItsStory(t *testing.T) {
	t.Parallel()
	f := tools.NotApplied(errors.New("slow down")).WithCode("http_429").After(time.Minute)
	if got := f.Error(); got != "not_applied (http_429): slow down" {
		t.Errorf("%s", got)
	}
	if got := tools.Unknown(nil).AsInProgress().Error(); got != "unknown" {
		t.Errorf("%s", got)
	}
	if f.RetryAfter != time.Minute || f.InProgress || f.Final {
		t.Errorf("%+v", f)
	}
}

func TestAResultIsKeptWhateverItIs(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		make      func() (tools.Result, error)
		mediaType string
		body      string
	}{
		"JSON":                       {func() (tools.Result, error) { return tools.JSON(map[string]int{"a": 1}) }, "application/json", `{"a":1}`},
		"what has no JSON":           {func() (tools.Result, error) { return tools.JSON([]any{1, 2i}) }, "text/plain; charset=utf-8", "[1 (0+2i)]"},
		"text":                       {func() (tools.Result, error) { return tools.Text("grün") }, "text/plain; charset=utf-8", "grün"},
		"text that is no valid text": {func() (tools.Result, error) { return tools.Text("\xff") }, "application/octet-stream", "\xff"},
	} {
		result, err := tc.make()
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if result.MediaType != tc.mediaType || string(result.Body) != tc.body {
			t.Errorf("%s: %s %q", name, result.MediaType, result.Body)
		}
	}
}
