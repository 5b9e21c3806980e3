package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/outbox"
	"writ/workflows"
)

// facts is everything that the judgement knows.
type facts struct {
	// address and namespace say which Temporal was asked.
	address, namespace string
	// now is the time of this machine.
	now time.Time

	server  outcome[outbox.Server] // or why there is no connection
	schema  outcome[outbox.Schema]
	denied  outcome[[]string]
	holds   outcome[[]outbox.Hold]
	backlog outcome[outbox.Backlog]
	stuck   outcome[outbox.Stuck]
	rules   outcome[outbox.PoliciesInForce]
	times   outcome[outbox.Timelines]
	clock   outcome[outbox.Clock]
	pooler  outcome[outbox.Pooler]

	version    outcome[string]
	names      outcome[workflows.Namespace]
	attributes outcome[attributes]
	queues     outcome[[]outbox.Queue]
	polled     outcome[map[string]workflows.Polled]
}

type attributes struct{ missing, mistyped []string }

// outcome is a fact, or why it is not known.
type outcome[T any] struct {
	value T
	err   error
}

// notLooked is the error of a fact that nobody looked for, and says why.
type notLooked struct{ because string }

func (e notLooked) Error() string { return "not looked at: " + e.because }

// finding is a check without its name.
type finding struct {
	status Status
	found  string
	mend   string
}

func ok(format string, args ...any) finding {
	return finding{status: OK, found: fmt.Sprintf(format, args...)}
}

func warn(mend, format string, args ...any) finding {
	return finding{Warn, fmt.Sprintf(format, args...), mend}
}

func fail(mend, format string, args ...any) finding {
	return finding{Fail, fmt.Sprintf(format, args...), mend}
}

// lost is the finding about a fact that is not known: unknown if nobody looked, else what
// else says, with the error in one line.
func lost(err error, mend string, els func(mend, format string, args ...any) finding) finding {
	var skipped notLooked
	if errors.As(err, &skipped) {
		return finding{status: Unknown, found: skipped.Error()}
	}
	return els(mend, "%s", oneLine(err))
}

// oneLine joins the lines of drivers' messages. pgx has one for each try, the same for a
// try with TLS and one without.
func oneLine(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	return strings.Join(slices.Compact(lines), " ")
}

// some is a number of things.
func some(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
