package activities

import (
	"context"
	"slices"
	"time"

	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

// asksAgain is Row.DecidesAgain for an input, which may name the generation that it is about: one
// that was decided on since by the same request, sent by somebody else, is its answer.
func (in Input) asksAgain(row outbox.Row) (bool, error) {
	if in.Refused != 0 && in.Refused != row.Generation {
		return false, nil
	}
	return row.DecidesAgain()
}

// authorizeRefused decides anew on a refused row, under the tool, the gates and the policy of now, and
// in the effect context that was sealed with it.
func (a *Activities) authorizeRefused(ctx context.Context, r Request, row outbox.Row) (Progress, error) {
	var err error
	if r.Context, err = row.Context(); err != nil {
		return Progress{}, err
	}
	tool, d, err := a.decideRequest(ctx, r)
	if err != nil {
		return Progress{}, err
	}
	p := progressOf(row)
	p.DecidedAgain = row.Generation
	if d.repeats(row, tool.Digest) {
		return p, nil
	}
	// There is no row of the new decision yet.
	p.Step, p.Decision, p.DecidedAt = intent.Step{Kind: StepPersist, Reason: intent.ReasonFirstAttempt}, d.recorded, d.at
	p.State, p.Version = "", 0
	return p, nil
}

// persistAgain commits the new decision on a refused row, unless somebody else has.
func (a *Activities) persistAgain(ctx context.Context, in PersistInput, r Request, row outbox.Row, d decided) (Progress, error) {
	if row.Generation == in.DecidedAgain && intent.DecidesAgain(row.Record()) {
		var err error
		if r.Context, err = row.Context(); err != nil {
			return Progress{}, err
		}
		if row, err = a.insert(ctx, r, in.Input.traceparent(), d, &row); err != nil {
			return Progress{}, err
		}
	}
	p := in.progressOf(row, d)
	p.DecidedAgain = in.DecidedAgain
	return p, nil
}

// sameFor is how long a refusal stands of which only the reason has changed, as the numbers in it do.
const sameFor = time.Minute

// repeats reports whether the decision says what the refusal on the row says: then that stands, with
// its receipt, so that whoever asks in a loop writes nothing.
func (d decided) repeats(row outbox.Row, spec intent.Digest) bool {
	before, err := parseDecision(row.Decision)
	if err != nil || d.Allow || spec != row.SpecDigest {
		return false
	}
	same := !before.Allow && d.Code == before.Code && d.Policy == before.Policy &&
		d.PolicyDigest == before.PolicyDigest && slices.Equal(d.Policies, before.Policies)
	return same && (d.Reason == before.Reason || row.ReadAt.Sub(row.EndedAt) < sameFor)
}

// decideRequest decides on a request that has no row, or a refused one.
func (a *Activities) decideRequest(ctx context.Context, r Request) (tools.Registered, decided, error) {
	tool, err := a.asked(r)
	if err != nil {
		return tool, decided{}, err
	}
	if err := tools.Validate(tool, r.Payload); err != nil {
		return tool, decided{}, err
	}
	d, err := a.decideNew(ctx, tool.Spec, r)
	return tool, d, err
}
