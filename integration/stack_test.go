package integration

import (
	"encoding/json"
	"fmt"
	"testing"
)

// stack is a running writ-dev with nothing but PostgreSQL and Temporal in it.
type stack struct {
	process *process
	// The members of its ready line.
	DatabaseURL       string `json:"database_url"`
	TemporalAddress   string `json:"temporal_address"`
	TemporalNamespace string `json:"temporal_namespace"`
}

// launchStack starts writ-dev and returns when it is ready.
func launchStack(arguments ...string) (*stack, error) {
	arguments = append(arguments, "--no-worker", "--no-provider", "--no-ui", "-o", "json")
	p, err := launch("writ-dev", program("writ-dev"), nil, arguments...)
	if err != nil {
		return nil, err
	}
	line, err := p.readyLine()
	if err != nil {
		p.kill()
		return nil, err
	}
	s := &stack{process: p}
	if err := json.Unmarshal(line, s); err != nil || s.DatabaseURL == "" || s.TemporalAddress == "" {
		p.kill()
		return nil, fmt.Errorf("the ready line of writ-dev is %q: %w", line, err)
	}
	return s, nil
}

// stop ends the stack cleanly.
func (s *stack) stop() error {
	status, err := s.process.terminate()
	if err == nil && status != 0 {
		err = fmt.Errorf("writ-dev ends with status %d after SIGTERM\n%s", status, s.process.transcript())
	}
	return err
}

// privateStack starts a stack for one test, which is stopped at its end.
func privateStack(t testing.TB, arguments ...string) *stack {
	t.Helper()
	s, err := launchStack(arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.stop(); err != nil {
			t.Error(err)
		}
		if t.Failed() {
			t.Logf("writ-dev\n%s", s.process.transcript())
		}
	})
	return s
}
