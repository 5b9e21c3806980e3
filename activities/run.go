package activities

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/activity"

	"writ/intent"
	"writ/internal/invocation"
	"writ/internal/panictext"
	"writ/outbox"
	"writ/telemetry"
	"writ/tools"
)

// run is one attempt of a tool.
type run struct {
	tool tools.Tool
	// class is the one that the attempt was granted under, which need not be the class
	// that the tool has now: it says what a bare error means.
	class   intent.Class
	fields  invocation.Fields
	attempt outbox.Attempt
	// lease is how long an answer is waited for; late receives one that comes after it.
	lease time.Time
	late  func(outbox.Evidence)
	// salt is the intent's; zero while there is no row.
	salt intent.Salt
	// maxResult is how many bytes of an answer are kept.
	maxResult int
	// check says what is wrong with an answer; nil if any answer will do.
	check func(body []byte) error
}

// untilLease runs the tool and returns what it is known to have done. A tool that does
// not answer by the end of its lease is unknown.
//
// The tool's context derives from the claim and not from the activity: cancelling the
// activity must not interrupt a send.
func (r run) untilLease(ctx context.Context) outbox.Evidence {
	ctx, span := telemetry.Start(context.WithoutCancel(ctx), "writ.attempt",
		telemetry.Tool.String(r.fields.Tool), telemetry.Attempt.Int(r.attempt.Number))
	ev := r.call(ctx)
	span.SetAttributes(telemetry.Outcome.String(string(ev.Outcome)))
	telemetry.End(span, nil)
	return ev
}

func (r run) call(ctx context.Context) outbox.Evidence {
	if !time.Now().Before(r.fields.Deadline) {
		// The claim took too long. The tool was not called, so there is no doubt.
		ev := outbox.Evidence{Attempt: r.attempt.Number, Token: r.attempt.Token}
		failed(&ev, tools.NotApplied(errors.New("the time of the attempt was over before the tool was called")).WithCode(CodeNotSent).AsUncontacted())
		return ev
	}
	ctx, cancel := context.WithDeadline(ctx, r.fields.Deadline)
	answers := make(chan outbox.Evidence, 1)
	go func() {
		// Stands if the tool ends its goroutine instead of returning.
		ev := outbox.Evidence{Attempt: r.attempt.Number, Token: r.attempt.Token, Outcome: intent.Unknown, Code: CodeGoexit, Contact: intent.NoContact}
		defer func() { cancel(); answers <- ev }()
		ev = r.evidenceOf(func() (tools.Result, error) {
			return r.tool.Invoke(ctx, invocation.New(r.fields))
		})
	}()
	giveUp := time.NewTimer(time.Until(r.lease))
	defer giveUp.Stop()
	select {
	case ev := <-answers:
		return r.checked(ev)
	case <-giveUp.C:
		go func() { r.late(r.checked(<-answers)) }()
		return outbox.Evidence{Attempt: r.attempt.Number, Token: r.attempt.Token, Outcome: intent.Unknown,
			Code: CodeDeadlineExceeded, Message: "the tool did not answer by the end of its lease"}
	}
}

// What attempts and lookups keep of words that others choose, in bytes: the provider's name of
// an effect, the code and the message of what went wrong, the type of an answer.
const (
	maxEffectID  = 255
	maxCode      = 64
	maxMessage   = 2000
	maxMediaType = 255
)

// evidenceOf calls the tool and says what its answer, its error or its panic shows.
func (r run) evidenceOf(call func() (tools.Result, error)) (ev outbox.Evidence) {
	ev = outbox.Evidence{Attempt: r.attempt.Number, Token: r.attempt.Token}
	defer func() {
		if p := recover(); p != nil {
			// The stack is for the operator; it stays in the database and out of receipts.
			failed(&ev, tools.Classify(r.class, errors.New(panictext.Of(p))))
			ev.Code, ev.Contact = CodePanic, intent.NoContact
		}
	}()
	result, err := call()
	if err != nil {
		failed(&ev, tools.Classify(r.class, err))
		return ev
	}
	ev.Outcome, ev.EffectID = intent.Applied, storable(result.EffectID, maxEffectID)
	if result.Broken {
		ev.Code, ev.Message = CodeResultBroken, "the provider's answer broke off, or is larger than what is read of it; what arrived is kept"
	}
	if len(result.Body) > 0 {
		r.keep(&ev, result)
	}
	return ev
}

// keep records the answer as it will be stored: whole in its attempt's row, whole or cut
// under its digest, with the size and digest of all of it.
func (r run) keep(ev *outbox.Evidence, result tools.Result) {
	ev.Result, ev.MediaType = result.Body, mediaTypeOf(result)
	size := len(result.Body)
	if size <= intent.MaxInline {
		return
	}
	ev.ResultRef = &outbox.ResultRef{Digest: intent.ResultDigest(r.salt, ev.MediaType, result.Body), Size: int64(size)}
	if size > r.maxResult {
		ev.Result = result.Body[:r.maxResult]
		ev.Code = CodeResultCut
		ev.Message = fmt.Sprintf("the answer has %d bytes, of which the first %d are kept", size, r.maxResult)
	}
}

func failed(ev *outbox.Evidence, f *tools.Failure) {
	ev.Outcome, ev.Code, ev.Final, ev.InProgress = f.Outcome, storable(f.Code, maxCode), f.Final, f.InProgress
	ev.Stored, ev.Already = f.Stored, f.Already && f.Outcome == intent.NotApplied
	ev.Message = storable(f.Error(), maxMessage)
	// A failure speaks of what did not, or may have, happened; success is a nil error.
	if ev.Outcome != intent.NotApplied {
		ev.Outcome = intent.Unknown
	}
	ev.RetryAfterMS, ev.Contact = retryAfterMS(f), f.Contact
}

// maxRetryAfter bounds a wish for a wait against nonsense.
const maxRetryAfter = 365 * 24 * time.Hour

// retryAfterMS is the wish for a wait in whole milliseconds; 0 if there is none.
func retryAfterMS(f *tools.Failure) int64 {
	if f.RetryAfter <= 0 {
		return 0
	}
	return max(min(f.RetryAfter, maxRetryAfter).Milliseconds(), 1)
}

// mediaTypeOf says what the body is, whatever the tool says: a body that is no JSON is
// kept as bytes.
func mediaTypeOf(r tools.Result) string {
	isJSON := json.Valid(r.Body) && utf8.Valid(r.Body)
	switch {
	case r.MediaType == "" && isJSON:
		return tools.MediaTypeJSON
	case r.MediaType == "" || r.MediaType == tools.MediaTypeJSON && !isJSON:
		return tools.MediaTypeBinary
	}
	return storable(r.MediaType, maxMediaType)
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
	// Whoever pauses the activity in Temporal does not stop the call, and must not make it look
	// lost.
	ctx = context.WithoutCancel(ctx)
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

// beatStep beats for a database step that became an activity of its own. As a local one it is part
// of its workflow task, whose timeout notices a lost worker.
func beatStep(ctx context.Context) (stop func()) {
	if !activity.IsActivity(ctx) {
		return func() {}
	}
	info := activity.GetInfo(ctx)
	if info.IsLocalActivity {
		return func() {}
	}
	return beat(ctx, info.HeartbeatTimeout)
}
