package tools_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"writ/intent"
	"writ/tools"
)

func TestATransactionalToolIsOneByHowItIsMade(t *testing.T) {
	t.Parallel()
	run := func(context.Context, tools.Tx, tools.Invocation) (tools.Result, error) { return tools.Result{}, nil }
	tool := tools.NewTransactional(tools.Spec{Name: "records.purge"}, run)
	registry, err := tools.NewRegistry(tool)
	if err != nil {
		t.Fatal(err)
	}
	if registered, _ := registry.Lookup("records.purge"); registered.Spec.Class() != intent.Transactional {
		t.Errorf("its class is %s", registered.Spec.Class())
	}
	for name, broken := range map[string]tools.Tool{
		"no function":      tools.NewTransactional(tools.Spec{Name: "a"}, nil),
		"no method":        tools.New(tools.Spec{Name: "a", SideEffectful: true, Transactional: true}, noop),
		"idempotent":       tools.NewTransactional(tools.Spec{Name: "a", Idempotent: true}, run),
		"reconcilable":     tools.NewTransactional(tools.Spec{Name: "a", Reconcilable: true}, run),
		"a key contract":   tools.NewTransactional(tools.Spec{Name: "a", Key: tools.KeyContract{Remembers: tools.WindowForever}}, run),
		"a method unasked": otherwise{Transactor: tool, spec: tools.Spec{Name: "a", SideEffectful: true}},
	} {
		if _, err := tools.NewRegistry(broken); intent.CodeOf(err) != intent.CodeInvalidSpec {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func noop(context.Context, tools.Invocation) (tools.Result, error) { return tools.Result{}, nil }

// otherwise declares something else than it can do.
type otherwise struct {
	tools.Transactor
	spec tools.Spec
}

func (o otherwise) Spec() tools.Spec { return o.spec }

func TestEveryErrorOfATransactionalToolIsADefiniteFailureWithTheToolsOwnWords(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err  error
		want tools.Failure
	}{
		"bare":    {errors.New("EOF"), tools.Failure{Code: tools.CodeToolError}},
		"unknown": {tools.Unknown(errors.New("EOF")).WithCode("odd"), tools.Failure{Code: "odd"}},
		"final":   {fmt.Errorf("purge: %w", tools.NotApplied(nil).WithCode("gone").AsFinal()), tools.Failure{Code: "gone", Final: true}},
		"a wait":  {tools.NotApplied(nil).After(time.Minute), tools.Failure{Code: tools.CodeToolError, RetryAfter: time.Minute}},
		"what only a provider says": {
			tools.Unknown(nil).WithCode("odd").AsAlready().AsStored().AsInProgress(), tools.Failure{Code: "odd"},
		},
	} {
		got := *tools.Classify(intent.Transactional, c.err)
		got.Err, c.want.Outcome = nil, intent.NotApplied
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}
