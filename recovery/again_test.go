package recovery_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/workflows"
)

// refuse is what a worker does with a request that its policy refuses.
func (e *engine) refuse(ctx context.Context, in activities.Input) (workflows.Accepted, error) {
	_, err := e.b.store.InsertEnded(ctx, proposed(*in.Request), outbox.End{To: intent.Refused}, func(context.Context, pgx.Tx, outbox.Row, string, *outbox.Answer) error { return nil })
	return workflows.Accepted{State: intent.Refused}, err
}

// refusedBefore enqueues order-7, has it refused, and enqueues it again.
func refusedBefore(t *testing.T) (backlog, *engine) {
	t.Helper()
	b, e := newBacklog(t)
	e.accept = e.refuse
	b.enqueue(t, "acme", "order-7", "payments.capture", `{}`)
	dispatch(t, dispatcher(b, e, 0))
	if b.state(t) != "" || b.intents(t) != 1 {
		t.Fatalf("left: %q, %d intents", b.state(t), b.intents(t))
	}
	b.enqueue(t, "acme", "order-7", "payments.capture", `{}`)
	if b.state(t) != "order-7 0" {
		t.Fatalf("enqueued: %q", b.state(t))
	}
	return b, e
}

func TestARequestThatIsEnqueuedAgainAfterItsRefusalIsDecidedAgainAndThenForgotten(t *testing.T) {
	t.Parallel()
	b, e := refusedBefore(t)
	e.accept = func(context.Context, activities.Input) (workflows.Accepted, error) {
		return workflows.Accepted{State: intent.Refused}, nil // a run that had begun before it
	}
	if codes := dispatch(t, dispatcher(b, e, 0)); codes["order-7"] != intent.CodeNotYetKnown || b.state(t) != "order-7 1 not_yet_known" {
		t.Fatalf("%v, left: %q", codes, b.state(t))
	}
	b.setAhead(t, "1 minute")
	e.accept = func(context.Context, activities.Input) (workflows.Accepted, error) {
		return workflows.Accepted{State: intent.Refused, DecidedAgain: 1}, nil
	}
	if codes := dispatch(t, dispatcher(b, e, 0)); len(codes) != 0 || b.state(t) != "" || e.times("order-7") != 3 {
		t.Errorf("%v, left: %q, started %d times", codes, b.state(t), e.times("order-7"))
	}
}

func TestARefusalToWhichAPersonSaidNoIsTheAnswerOfWhatIsEnqueuedAgain(t *testing.T) {
	t.Parallel()
	b, e := refusedBefore(t)
	const denied = `INSERT INTO decisions (intent_id, number, kind, principal, note, commitment, decided_at) SELECT id, 1, 'deny', 'eve', '', commitment, writ_now() FROM intents`
	if _, err := b.pool.Exec(t.Context(), denied); err != nil {
		t.Fatal(err)
	}
	if codes := dispatch(t, dispatcher(b, e, 0)); len(codes) != 0 || b.state(t) != "" || e.times("order-7") != 1 {
		t.Errorf("%v, left: %q, started %d times", codes, b.state(t), e.times("order-7"))
	}
}

func TestWhatIsRejectedWhenItIsEnqueuedAgainIsParked(t *testing.T) {
	t.Parallel()
	b, e := refusedBefore(t)
	e.accept = func(_ context.Context, in activities.Input) (workflows.Accepted, error) {
		return workflows.Accepted{Rejection: &activities.Rejection{Code: intent.CodeInputSchema, Message: "no", Of: in.Request.Mark()}}, nil
	}
	if dispatch(t, dispatcher(b, e, 0)); b.state(t) != "order-7 1 input_schema_violation parked" {
		t.Errorf("left: %q", b.state(t))
	}
}
