package activities

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/activity"

	"writ/intent"
	"writ/internal/invocation"
	"writ/outbox"
	"writ/telemetry"
	"writ/tools"
)

// runUntil runs the tool for one attempt and returns what it is known to have done. A
// tool that does not answer by the end of its lease is unknown; its answer, should it
// still come, goes to late.
//
// The tool's context derives from the claim and not from the activity: cancelling the
// activity must not interrupt a send.
func (a *Activities) runUntil(ctx context.Context, tool tools.Registered, fields invocation.Fields, attempt outbox.Attempt,
	lease time.Time, late func(outbox.Evidence)) outbox.Evidence {
	ctx, span := telemetry.Start(context.WithoutCancel(ctx), "writ.attempt",
		telemetry.Tool.String(fields.Tool), telemetry.Attempt.Int(attempt.Number))
	ctx, cancel := context.WithDeadline(ctx, fields.Deadline)
	answers := make(chan outbox.Evidence, 1)
	go func() {
		defer cancel()
		ev := evidenceOf(tool.Spec.Class(), attempt, func() (tools.Result, error) {
			return tool.Tool.Invoke(ctx, invocation.New(fields))
		})
		answers <- ev
	}()
	giveUp := time.NewTimer(time.Until(lease))
	defer giveUp.Stop()
	var ev outbox.Evidence
	select {
	case ev = <-answers:
	case <-giveUp.C:
		ev = outbox.Evidence{Attempt: attempt.Number, Token: attempt.Token, Outcome: intent.Unknown,
			Code: "deadline_exceeded", Message: "the tool did not answer by the end of its lease"}
		go func() { late(<-answers) }()
	}
	span.SetAttributes(telemetry.Outcome.String(string(ev.Outcome)))
	telemetry.End(span, nil)
	return ev
}

// evidenceOf calls the tool and says what its answer, its error or its panic shows.
func evidenceOf(class intent.Class, attempt outbox.Attempt, call func() (tools.Result, error)) (ev outbox.Evidence) {
	ev = outbox.Evidence{Attempt: attempt.Number, Token: attempt.Token}
	defer func() {
		if p := recover(); p != nil {
			// The stack is for the operator; it stays in the database and out of receipts.
			failed(&ev, tools.Classify(class, fmt.Errorf("panic: %v\n%s", p, debug.Stack())))
			ev.Code = "panic"
		}
	}()
	result, err := call()
	if err != nil {
		failed(&ev, tools.Classify(class, err))
		return ev
	}
	ev.Outcome = intent.Applied
	if len(result.Body) > 0 {
		ev.Result = result.Body
		ev.MediaType = mediaTypeOf(result)
	}
	return ev
}

func failed(ev *outbox.Evidence, f *tools.Failure) {
	ev.Outcome, ev.Code, ev.Final, ev.InProgress = f.Outcome, storable(f.Code, 64), f.Final, f.InProgress
	ev.Message = storable(f.Error(), 2000)
	// A failure speaks of what did not, or may have, happened; success is a nil error.
	if ev.Outcome != intent.NotApplied {
		ev.Outcome = intent.Unknown
	}
	if f.RetryAfter > 0 {
		ev.RetryAfterMS = max(f.RetryAfter.Milliseconds(), 1)
	}
}

// mediaTypeOf says what the body is, whatever the tool says: a body that is no JSON is
// kept as bytes.
func mediaTypeOf(r tools.Result) string {
	switch {
	case r.MediaType == "" && json.Valid(r.Body):
		return tools.MediaTypeJSON
	case r.MediaType == "" || r.MediaType == tools.MediaTypeJSON && !json.Valid(r.Body):
		return "application/octet-stream"
	}
	return storable(r.MediaType, 255)
}

// storable makes s acceptable to a text column, which refuses NUL and broken UTF-8: what
// a tool says after its effect happened must never be a reason to lose the evidence.
func storable(s string, limit int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return s[:limit]
}

// beat tells Temporal that this worker is alive until the returned function is called. It
// beats from the start of the activity on, also while the claim waits for a lock.
func beat(ctx context.Context, timeout time.Duration) (stop func()) {
	if timeout <= 0 {
		return func() {}
	}
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(timeout / 4)
		defer ticker.Stop()
		for {
			select {
			case <-ticker.C:
				activity.RecordHeartbeat(ctx)
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-stopped }
}
