package writ

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/temporal"

	"writ/codec"
	"writ/intent"
	"writ/outbox"
	"writ/telemetry"
	"writ/tools"
	"writ/workflows"
)

// Client asks for tools to be run and reads what became of it. It is safe for concurrent
// use.
type Client struct {
	*connection
	store      *outbox.Store
	maxPayload int
	// shownSpecs holds a shownSpec for each spec digest that was needed.
	shownSpecs sync.Map
}

// Dial returns a client. Connections are opened when they are first used; the error is
// about the configuration. Close the client after use.
func Dial(_ context.Context, cfg Config) (*Client, error) {
	conn, err := connect(cfg)
	if err != nil {
		return nil, err
	}
	return &Client{connection: conn, store: outbox.New(conn.pool), maxPayload: cfg.withDefaults().MaxPayload}, nil
}

// MaxPayload is the size in bytes that a payload may have for this client.
func (c *Client) MaxPayload() int { return c.maxPayload }

// Check is Request.Check under the client's own limit of payloads.
func (c *Client) Check(r Request) error {
	_, err := r.prepare(false, c.maxPayload)
	return err
}

// Close closes the connections. Intents that were accepted go on.
func (c *Client) Close() { c.close() }

// Submit asks for a tool to be run and returns as soon as the intent is committed: it is
// accepted then, and goes on whatever becomes of the caller. The same request key again
// returns the intent that has it; one that was refused is decided on anew first, unless a person
// denied it.
func (c *Client) Submit(ctx context.Context, r Request) (Intent, error) {
	p, err := r.prepare(true, c.maxPayload)
	if err != nil {
		return Intent{}, err
	}
	ctx, span := telemetry.Start(ctx, "writ.submit", spanAttributes(p)...)
	row, err := c.submit(ctx, p)
	telemetry.End(span, err)
	if err != nil {
		return Intent{ID: p.id, RequestKey: p.request.RequestKey}, err
	}
	return c.view(ctx, row)
}

// maxRuns bounds the runs that one call starts or joins: each may end for a reason of its
// own, but so many mean that something is wrong.
const maxRuns = 20

var errNoEnd = fmt.Errorf("%d runs of the workflow ended without an end of the intent", maxRuns)

// submit starts or joins the workflow until the row is committed. A run that another
// request with the same key began, and that was rejected as such, is no answer. Nor is the refusal
// that the request found, before it was decided on again.
func (c *Client) submit(ctx context.Context, p prepared) (outbox.Row, error) {
	for try := range maxRuns {
		at, err := c.find(ctx, p)
		if err != nil {
			return outbox.Row{}, err
		}
		if try == 0 {
			p.finds(at)
		}
		if p.answeredBy(at) {
			return at.row, nil
		}
		if p, err = c.stage(ctx, p); err != nil {
			return outbox.Row{}, err
		}
		accepted, err := workflows.Submit(ctx, c.temporal, at.queue, p.input(ctx))
		if err != nil {
			if err = c.notStarted(ctx, p, try, err); err == nil {
				continue
			}
			return outbox.Row{}, err
		}
		if accepted.Rejection != nil && accepted.Rejection.Of == p.request.Mark() {
			c.unstage(ctx, p)
			return outbox.Row{}, accepted.Rejection.Error()
		}
		p.decided(accepted.DecidedAgain)
	}
	return outbox.Row{}, c.unanswered(ctx, p, errNoEnd)
}

// Execute asks for a tool to be run and waits for the end. The error is nil only if the
// effect happened, as far as the whole record shows, and its receipt is journaled; otherwise it
// says whether the effect happened. An effect that happened more than once is no error: see
// Intent.Contradiction. If ctx ends first, an intent that was accepted goes on, and the error has
// code not_yet_known: the same request key again joins it.
func (c *Client) Execute(ctx context.Context, r Request) (Execution, error) {
	p, err := r.prepare(false, c.maxPayload)
	if err != nil {
		return Execution{}, err
	}
	ctx, span := telemetry.Start(ctx, "writ.submit", spanAttributes(p)...)
	row, err := c.execute(ctx, p)
	telemetry.End(span, err)
	if err != nil {
		return Execution{Intent: Intent{ID: p.id, RequestKey: p.request.RequestKey}}, err
	}
	return c.ended(ctx, row)
}

// execute starts or joins the workflow until the row has ended or is parked. A run that
// was terminated or reset under its waiter is a crash: the next run goes on from the row. The
// refusal that the request found is its end only once it was decided on again.
func (c *Client) execute(ctx context.Context, p prepared) (outbox.Row, error) {
	for try := range maxRuns {
		at, err := c.find(ctx, p)
		if err != nil {
			return outbox.Row{}, err
		}
		if try == 0 {
			p.finds(at)
		}
		if p.answeredBy(at) && at.row.Next().Kind == intent.Stop {
			return at.row, nil
		}
		if p, err = c.stage(ctx, p); err != nil {
			return outbox.Row{}, err
		}
		run, err := c.temporal.ExecuteWorkflow(ctx, workflows.StartOptions(p.id, at.queue, p.request.Labels()), workflows.Type, p.input(ctx))
		if err != nil {
			if err = c.notStarted(ctx, p, try, err); err == nil {
				continue
			}
			return c.stopped(ctx, p, err)
		}
		var result workflows.Result
		err = run.Get(ctx, &result)
		switch {
		case err == nil && result.Rejection != nil && result.Rejection.Of == p.request.Mark():
			c.unstage(ctx, p)
			return outbox.Row{}, result.Rejection.Error()
		case err != nil && !interrupted(err):
			return c.stopped(ctx, p, c.unanswered(ctx, p, err))
		}
		p.decided(result.DecidedAgain)
		// Read the row: the run may have been another request's with the same key, and
		// rejected as such, and only the row says that the intent ended.
	}
	return outbox.Row{}, c.unanswered(ctx, p, errNoEnd)
}

// stopped returns the row if it has ended or is parked and Temporal only did not answer. Else it
// returns cause, as it does if the caller stopped waiting.
func (c *Client) stopped(ctx context.Context, p prepared, cause error) (outbox.Row, error) {
	if intent.CodeOf(cause) != intent.CodeTemporalUnavailable || gaveUp(ctx) {
		return outbox.Row{}, cause
	}
	row, err := c.store.Load(ctx, p.id)
	if err != nil || p.request.SameAs(row) != nil || row.Next().Kind != intent.Stop || p.asksAgain(row) {
		return outbox.Row{}, cause
	}
	return row, nil
}

// interrupted reports whether a run ended because somebody stopped it, and not because
// the intent did.
func interrupted(err error) bool {
	var terminated *temporal.TerminatedError
	var canceled *temporal.CanceledError
	return errors.As(err, &terminated) || errors.As(err, &canceled)
}

// takesText is the error of a payload that came as text for a tool whose input schema, as
// it was published last, does not want an object.
func (c *Client) takesText(ctx context.Context, p prepared) error {
	if !p.payload.FromText {
		return nil
	}
	tool, err := c.Tool(ctx, p.request.Tool)
	if err != nil {
		return err
	}
	schema, err := tools.CompileSchema(tool.Behaviour.InputSchema)
	if err == nil && !schema.WantsObject() {
		return p.payload.NotObject()
	}
	return err
}

// stage stores a payload that is too large for Temporal's history, once, and refers to it
// from then on.
func (c *Client) stage(ctx context.Context, p prepared) (prepared, error) {
	staged, err := p.request.Stage(ctx, c.store)
	if err != nil {
		if gaveUp(ctx) {
			err = c.unanswered(ctx, p, err)
		}
		return p, err
	}
	p.request = staged
	return p, nil
}

// unstage drops the payload of a request that was rejected. If that fails, recovery drops it.
func (c *Client) unstage(ctx context.Context, p prepared) {
	if p.request.PayloadRef == nil {
		return
	}
	if err := c.store.Unstage(ctx, p.id, *p.request.PayloadRef); err != nil {
		c.log.Warn("the payload of a rejected request stays until recovery drops it", "intent_id", p.id.String(), "error", err)
	}
}

// acceptanceCheck is how long a caller that stopped waiting is kept to learn whether its
// request was accepted.
const acceptanceCheck = 2 * time.Second

// unanswered says, as far as it can be known, what a request is worth whose answer did
// not come.
func (c *Client) unanswered(ctx context.Context, p prepared, cause error) error {
	code := intent.CodeTemporalUnavailable
	switch {
	case codec.Unopened(cause):
		code = intent.CodeOf(cause) // Temporal did answer
	case gaveUp(ctx):
		code = intent.CodeNotYetKnown
	}
	check, cancel := context.WithTimeout(context.WithoutCancel(ctx), acceptanceCheck)
	defer cancel()
	row, submitted, err := c.look(check, p.id)
	var known string
	mine := err == nil && submitted == nil && p.request.SameAs(row) == nil
	var seen Intent
	if mine {
		seen = viewOf(row)
		seen.Holds, _ = c.holdsOn(check, row) // without them it is said less exactly why it waits
	}
	switch {
	case mine && p.asksAgain(row):
		known = fmt.Sprintf("intent %s was refused, and it is not known whether that was decided on again; request key %q again asks for it", p.id, p.request.RequestKey)
	case mine && row.Next().Kind == intent.Stop:
		known = fmt.Sprintf("intent %s is %s by now; request key %q again returns its end", p.id, row.State, p.request.RequestKey)
	case mine:
		known = fmt.Sprintf("intent %s was accepted and %s; request key %q again waits for its end", p.id, seen.goesOn(), p.request.RequestKey)
	case submitted != nil && p.isOf(*submitted):
		known = fmt.Sprintf("the request is enqueued as intent %s, which was not started yet as far as it is known; request key %q again waits for its end", p.id, p.request.RequestKey)
	default:
		known = fmt.Sprintf("it is not known whether the request was accepted; request key %q again is safe, and `writ doctor` shows whether a worker polls for it",
			p.request.RequestKey)
	}
	if code != intent.CodeNotYetKnown {
		known += ": " + cause.Error()
	}
	var namespace *serviceerror.NamespaceNotFound
	if errors.As(cause, &namespace) {
		known += "; TEMPORAL_NAMESPACE names it"
	}
	e := intent.Errorf(code, "%s", known)
	e.Cause = cause
	if mine && !p.asksAgain(row) {
		e = provenBy(seen, e)
	}
	return e
}

// notStarted tells a definite no of Temporal to a start from a lost answer. It is nil if the
// start may be tried again at once. A namespace that is not found is no definite no: Temporal
// says so, too, while its own database is away.
func (c *Client) notStarted(ctx context.Context, p prepared, tries int, cause error) error {
	var argument *serviceerror.InvalidArgument
	var permission *serviceerror.PermissionDenied
	switch {
	case errors.As(cause, &permission):
		return refusedByTemporal(p, cause)
	case errors.As(cause, &argument):
		return c.notValid(ctx, p, tries, cause)
	}
	return c.unanswered(ctx, p, cause)
}

func refusedByTemporal(p prepared, cause error) error {
	return intent.Errorf(intent.CodeTemporalRefused,
		"Temporal refused to start the workflow; mend the TEMPORAL_* settings, then request key %q is safe: %w", p.request.RequestKey, cause)
}

// maxInvalid is how often a start is tried again that Temporal called invalid, and
// invalidPause the time before the first; it doubles. A server hears of search attributes that
// were registered within two seconds or so.
const (
	maxInvalid   = 6
	invalidPause = 100 * time.Millisecond
)

// notValid is notStarted for a start that Temporal called invalid. So it calls every start
// while its store, which was replaced by an empty one, does not know the search attributes:
// then they are registered again.
func (c *Client) notValid(ctx context.Context, p prepared, tries int, cause error) error {
	missing, err := workflows.RestoreSearchAttributes(ctx, c.temporal, c.namespace)
	switch {
	case err == nil && !missing && tries > 0: // somebody else may have registered them before the second start
		return refusedByTemporal(p, cause)
	case tries >= maxInvalid:
		return c.unanswered(ctx, p, cause)
	}
	select {
	case <-time.After(invalidPause << tries):
		return nil
	case <-ctx.Done():
		return c.unanswered(ctx, p, cause)
	}
}

// gaveUp reports whether the caller stopped waiting. gRPC hands the caller's deadline on to
// the server, which may answer that it has passed just before it does here.
func gaveUp(ctx context.Context) bool {
	const early = 100 * time.Millisecond
	deadline, bounded := ctx.Deadline()
	return ctx.Err() != nil || bounded && time.Until(deadline) < early
}

// Get returns the intent, also one in state submitted, whose request is enqueued and that is none
// yet; or an error with code intent_not_found.
func (c *Client) Get(ctx context.Context, id intent.ID) (Intent, error) {
	row, submitted, err := c.lookShown(ctx, id)
	if err != nil {
		return Intent{}, err
	}
	if submitted != nil {
		return *submitted, nil
	}
	return c.view(ctx, row)
}
