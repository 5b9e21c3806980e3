package integration

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"go.temporal.io/api/operatorservice/v1"
)

// A Temporal whose store was replaced by an empty one knows no search attributes of Writ's,
// and refuses every start that has some.
func TestASearchAttributeThatTemporalHasLostIsRegisteredAgainByWorkersAndByCallers(t *testing.T) {
	t.Parallel()
	s := privateStack(t, "--ephemeral", "--temporal-store", "memory")
	w := worldOn(t, s)

	worker := w.startWorker(t)
	lost := s.loseAttributes(t)
	eventually(t, "the worker has registered them again", func(context.Context) error {
		if now := s.attributes(t); !slices.Equal(now, lost) {
			return fmt.Errorf("registered are %v, want %v", now, lost)
		}
		return nil
	})
	w.ask(t, capture, "order-1").outcome(t).completed(t)

	worker.stop(t)
	w.startWorkerWith(t, []string{"--recover-every", "0"}) // it leaves them to others
	s.loseAttributes(t)
	w.ask(t, capture, "order-2", "--detach").accepted(t)
	s.loseAttributes(t)
	w.ask(t, capture, "order-3").outcome(t).completed(t)
}

// loseAttributes removes Writ's search attributes and returns their names.
func (s *stack) loseAttributes(t testing.TB) []string {
	t.Helper()
	names := s.attributes(t)
	if len(names) == 0 {
		t.Fatal("no search attribute is registered")
	}
	_, err := s.temporal(t).OperatorService().RemoveSearchAttributes(t.Context(), &operatorservice.RemoveSearchAttributesRequest{
		Namespace: s.TemporalNamespace, SearchAttributes: names,
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// attributes lists Writ's search attributes that Temporal knows.
func (s *stack) attributes(t testing.TB) []string {
	t.Helper()
	known, err := s.temporal(t).OperatorService().ListSearchAttributes(t.Context(), &operatorservice.ListSearchAttributesRequest{
		Namespace: s.TemporalNamespace,
	})
	if err != nil {
		t.Fatal(err)
	}
	names := slices.Sorted(maps.Keys(known.GetCustomAttributes()))
	return slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, "Writ") })
}
