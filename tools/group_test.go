package tools_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"

	"writ/intent"
	"writ/tools"
)

func TestAPanicInAGroupIsAnUnknownOutcomeAndNotTheEndOfTheWorker(t *testing.T) {
	t.Parallel()
	declined := tools.NotApplied(errors.New("declined")).WithCode("card_declined")
	for name, tc := range map[string]struct {
		class intent.Class
		run   []func() error
		wrap  func(error) error
		want  intent.Outcome
		code  string
	}{
		"a panic":                    {intent.Keyed, []func() error{boom}, nil, intent.Unknown, "panic"},
		"a panic of a read":          {intent.Read, []func() error{boom}, nil, intent.NotApplied, "panic"},
		"a panic beside a refusal":   {intent.Opaque, []func() error{func() error { return declined }, boom}, nil, intent.Unknown, "panic"},
		"a panic called certain":     {intent.Opaque, []func() error{boom}, func(err error) error { return tools.NotApplied(err) }, intent.Unknown, "panic"},
		"a panic with a refusal":     {intent.Opaque, []func() error{func() error { panic(declined) }}, nil, intent.Unknown, "panic"},
		"a panic with nil":           {intent.Opaque, []func() error{func() error { panic(nil) }}, nil, intent.Unknown, "panic"},
		"the end of a goroutine":     {intent.Keyed, []func() error{func() error { runtime.Goexit(); return nil }}, nil, intent.Unknown, "goexit"},
		"a refusal":                  {intent.Keyed, []func() error{func() error { return declined }, fine}, nil, intent.NotApplied, "card_declined"},
		"a refusal beside any error": {intent.Keyed, []func() error{func() error { return declined }, func() error { return errors.New("lost") }}, nil, intent.Unknown, "tool_error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g, _ := tools.NewGroup(t.Context())
			for _, f := range tc.run {
				g.Go(func(context.Context) error { return f() })
			}
			err := g.Wait()
			if tc.wrap != nil {
				err = tc.wrap(err)
			}
			if f := tools.Classify(tc.class, err); f.Outcome != tc.want || f.Code != tc.code {
				t.Errorf("%+v, want %s (%s)", f, tc.want, tc.code)
			}
		})
	}
}

func boom() error { panic("CANARY") }
func fine() error { return nil }

func TestAContainedPanicKeepsItsStackForTheOperatorAndNotItsValue(t *testing.T) {
	t.Parallel()
	g, _ := tools.NewGroup(t.Context())
	g.Go(func(context.Context) error { return boom() })
	err := g.Wait()
	if err == nil || !strings.Contains(err.Error(), "panic: a value of type string") || !strings.Contains(err.Error(), "tools_test.boom") || strings.Contains(err.Error(), "CANARY") {
		t.Errorf("the error is %v", err)
	}
}

func TestOneFailureDoesNotInterruptTheOthersOfAGroup(t *testing.T) {
	t.Parallel()
	g, _ := tools.NewGroup(t.Context())
	failed := make(chan struct{})
	var interrupted error
	g.Go(func(context.Context) error { defer close(failed); return errors.New("first") })
	g.Go(func(ctx context.Context) error {
		<-failed
		interrupted = ctx.Err()
		return errors.New("second")
	})
	err := g.Wait()
	if interrupted != nil {
		t.Errorf("the context of the other ended: %v", interrupted)
	}
	if err == nil || err.Error() != "first\nsecond" {
		t.Errorf("the errors are %q", err)
	}
}

func TestAGroupsContextEndsWithTheAttemptAndWhenItWasWaitedFor(t *testing.T) {
	t.Parallel()
	outer, end := context.WithCancel(t.Context())
	left, _ := tools.NewGroup(outer)
	seen := make(chan error, 1)
	left.Go(func(ctx context.Context) error { <-ctx.Done(); seen <- ctx.Err(); panic("nobody waits") })
	end() // as the engine does when a tool has returned
	if err := <-seen; !errors.Is(err, context.Canceled) {
		t.Errorf("the context ends with %v", err)
	}

	waited, ctx := tools.NewGroup(t.Context())
	if err := waited.Wait(); err != nil || ctx.Err() == nil {
		t.Errorf("after the wait: %v, %v", err, ctx.Err())
	}
}
