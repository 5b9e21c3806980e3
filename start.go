package writ

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"writ/intent"
	"writ/workflows"
)

// The pauses between looks for PostgreSQL and Temporal at a start, and how long a look may take.
const (
	firstStartPause = 250 * time.Millisecond
	lastStartPause  = 5 * time.Second
	startTimeout    = 5 * time.Second
)

// start takes every step, in its order, and again while PostgreSQL or Temporal does not answer, with
// growing pauses. It says in the log which of them is missing, whenever that changes and once a
// minute. within bounds the wait; 0: it has no end; negative: there is none.
//
// What waiting does not mend, as a wrong password or a schema that is missing, ends it at once.
func (c *connection) start(ctx context.Context, within time.Duration, steps ...func(context.Context) error) error {
	begun, pause := time.Now(), firstStartPause
	said, saidAt := "", time.Time{}
	for {
		var failures []error
		steps, failures = take(ctx, steps)
		if len(failures) == 0 {
			return nil
		}
		missing, final := unanswered(failures)
		if final != nil {
			return final
		}
		why := errors.Join(failures...)
		if ctx.Err() != nil || within < 0 || (within > 0 && time.Since(begun)+pause > within) {
			return failures[0]
		}
		if missing != said || time.Since(saidAt) > time.Minute {
			c.log.Warn("not ready: "+missing+" did not answer; trying again until it does", "missing", missing, "error", why)
			said, saidAt = missing, time.Now()
		}
		select {
		case <-ctx.Done():
			return failures[0]
		case <-time.After(pause):
		}
		pause = min(2*pause, lastStartPause)
	}
}

// take takes each step once and returns those that failed, with why. It stops at none of them, so
// that a person learns of everything that is missing.
func take(ctx context.Context, steps []func(context.Context) error) (left []func(context.Context) error, failures []error) {
	for _, step := range steps {
		bounded, cancel := context.WithTimeout(ctx, startTimeout)
		err := step(bounded)
		cancel()
		if err != nil {
			left, failures = append(left, step), append(failures, err)
		}
	}
	return left, failures
}

// servers are those whose missing answer is waited for, by the code that says so.
var servers = map[intent.Code]string{
	intent.CodeDatabaseUnavailable: "PostgreSQL",
	intent.CodeTemporalUnavailable: "Temporal",
}

// unanswered names what did not answer, or returns the first failure that is an answer.
func unanswered(failures []error) (missing string, final error) {
	var names []string
	for _, err := range failures {
		name, waits := servers[intent.CodeOf(err)]
		if !waits {
			return "", err
		}
		names = append(names, name)
	}
	return strings.Join(names, " and "), nil
}

// temporalStartError tells Temporal's definite no to whoever asks it from a lost answer. A namespace
// that is not found is none: Temporal says so, too, while its own database is away.
func temporalStartError(err error) error {
	var argument *serviceerror.InvalidArgument
	var permission *serviceerror.PermissionDenied
	code := status.Code(err)
	if errors.As(err, &argument) || errors.As(err, &permission) || code == codes.Unauthenticated || code == codes.PermissionDenied {
		return intent.Errorf(intent.CodeTemporalRefused, "Temporal answered and did not let Writ in; mend the TEMPORAL_* settings: %w", err)
	}
	return temporalError(err)
}

// registerSearchAttributes makes the search attributes known to Temporal, which may be a new one:
// no workflow starts without them.
func registerSearchAttributes(ctx context.Context, c *connection, namespace string) error {
	if err := workflows.RegisterSearchAttributes(ctx, c.temporal, namespace); err != nil {
		return temporalStartError(err)
	}
	return nil
}
