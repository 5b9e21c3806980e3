package integration

import (
	"encoding/json"
	"fmt"
	"syscall"
	"testing"
	"time"
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
	line, err := p.line(0)
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
	s.process.signal(syscall.SIGTERM)
	select {
	case <-s.process.ended:
	case <-time.After(patience):
		s.process.kill()
	}
	if state := s.process.cmd.ProcessState; !state.Success() {
		return fmt.Errorf("writ-dev ends with %s\n%s", state, s.process.transcript())
	}
	return nil
}

// privateStack starts a stack for one test.
func privateStack(t testing.TB, arguments ...string) *stack {
	t.Helper()
	s, err := launchStack(arguments...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		s.process.signal(syscall.SIGTERM)
		<-s.process.ended
		if t.Failed() {
			t.Logf("writ-dev\n%s", s.process.transcript())
		}
	})
	return s
}
