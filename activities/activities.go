package activities

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// Activities are the steps of tool.execute on one worker.
type Activities struct {
	store    *outbox.Store
	registry *tools.Registry
	policy   *policy.Engine
	queue    string
	worker   string
	log      *slog.Logger

	maxPayload, maxResult int
	confirmWithin         time.Duration
	breakerFailures       int
	follow                func(ctx context.Context, inForce string) error
	freed                 func()
}

// DefaultMaxResult is the size in bytes up to which an answer is kept whole.
const DefaultMaxResult = 16 << 20

// Config is what a worker gives its activities. Every field but the limits is required.
type Config struct {
	Store    *outbox.Store
	Registry *tools.Registry
	Policy   *policy.Engine
	// TaskQueue is the Temporal task queue that the worker polls.
	TaskQueue string
	// Worker names the process in claims.
	Worker string
	Logger *slog.Logger
	// MaxPayload is the size in bytes that a payload may have. Default: intent.MaxPayload.
	MaxPayload int
	// MaxResult is how many bytes of a tool's answer are kept; of a larger one the beginning,
	// with the size and the digest of all of it. Default: DefaultMaxResult.
	MaxResult int
	// ConfirmWithin is how long an intent waits for a person to confirm it. Default:
	// DefaultConfirmWithin.
	ConfirmWithin time.Duration
	// BreakerFailures is how many attempts in a row a provider may leave unanswered within a
	// minute before a hold is set on it. Default: DefaultBreakerFailures. Negative: any number.
	BreakerFailures int
	// Follow is called before each decision with the digest of the policies that are in force in
	// PostgreSQL, empty if none are, so that Policy has them. Nil: Policy does not follow them.
	Follow func(ctx context.Context, inForce string) error
	// Freed is called when a step has made room in a budget that others wait for; nil: they are
	// found at the next sweep.
	Freed func()
}

// New returns the activities of a worker.
func New(c Config) *Activities {
	return &Activities{
		store: c.Store, registry: c.Registry, policy: c.Policy, queue: c.TaskQueue, worker: c.Worker, log: c.Logger,
		maxPayload: c.MaxPayload, maxResult: cmp.Or(c.MaxResult, DefaultMaxResult),
		confirmWithin: cmp.Or(c.ConfirmWithin, DefaultConfirmWithin), breakerFailures: cmp.Or(c.BreakerFailures, DefaultBreakerFailures),
		follow: c.Follow,
		freed:  c.Freed,
	}
}
