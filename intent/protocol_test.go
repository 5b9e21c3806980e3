package intent_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"writ/intent"
)

// The stories are in testdata/protocol. Each tells, on one clock, what happens to an
// intent and what the rule says next:
//
//	intent class=keyed [window=24h|forever|unknown] [timeout=10s] [attempts=3] [backoff=1s] [max-backoff=1m] [retryable]
//	       [confirm-by=T]              it waits for a person until T
//	decide at=T confirm|deny           a person decides, if the intent waits for it
//	claim at=T                         grant the next attempt, if the rule says so
//	evidence attempt=N at=T OUTCOME    record what the attempt did (applied, not_applied, unknown), with
//	                                   [code=C] [final] [in-progress] [retry-after=D]
//	next at=T                          ask for the next step and take it if it ends or parks the intent
//	reissue                            go on under a new generation
//
// Run with -rewrite to write the output that the rule gives now.
func TestTheRuleTakesEveryStoryToTheEndItTells(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, "testdata/protocol", func(t *testing.T, path string) {
		var s story
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			switch d.Cmd {
			case "intent":
				s = begin(t, d)
				return fmt.Sprintf("%s, generation %d", s.record.State, s.record.Generation)
			case "decide":
				return s.decide(clock(t, d), d.HasArg("confirm"))
			case "claim":
				return s.claim(clock(t, d))
			case "evidence":
				return s.evidence(t, d)
			case "next":
				return s.next(clock(t, d))
			case "reissue":
				s.record.Generation++
				s.record.FirstSentAt = time.Time{}
				return fmt.Sprintf("%s, generation %d", s.record.State, s.record.Generation)
			}
			d.Fatalf(t, "unknown command %q", d.Cmd)
			return ""
		})
	})
}

// story is an intent and what is known of it.
type story struct{ record intent.Record }

// epoch is the time that the scenarios call 0s.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// grace is how long after an attempt's timeout its lease ends.
const grace = 5 * time.Second

func begin(t *testing.T, d *datadriven.TestData) story {
	rules := intent.Rules{Timeout: 10 * time.Second, MaxAttempts: 3, InitialBackoff: time.Second, MaxBackoff: time.Minute}
	var class, window string
	d.ScanArgs(t, "class", &class)
	rules.Class = intent.Class(class)
	d.MaybeScanArgs(t, "window", &window)
	switch window {
	case "", "unknown":
	case "forever":
		rules.Window = intent.Forever
	default:
		rules.Window = duration(t, d, "window", 0)
	}
	rules.Timeout = duration(t, d, "timeout", rules.Timeout)
	rules.InitialBackoff = duration(t, d, "backoff", rules.InitialBackoff)
	rules.MaxBackoff = duration(t, d, "max-backoff", rules.MaxBackoff)
	d.MaybeScanArgs(t, "attempts", &rules.MaxAttempts)
	rules.Retryable = d.HasArg("retryable")
	s := story{intent.Record{State: intent.Recorded, Version: 1, Generation: 1, Rules: rules}}
	if d.HasArg("confirm-by") {
		s.record.State, s.record.ConfirmBy = intent.AwaitingConfirmation, epoch.Add(duration(t, d, "confirm-by", 0))
	}
	return s
}

// decide does what the outbox does under the row's lock.
func (s *story) decide(now time.Time, confirm bool) string {
	step := intent.Next(s.record, now)
	if s.record.State != intent.AwaitingConfirmation || step.Kind != intent.Stop {
		return "too late: " + told(step)
	}
	s.record.State = intent.Refused
	if confirm {
		s.record.State = intent.Recorded
	}
	return string(s.record.State)
}

// claim does what the outbox does under the row's lock.
func (s *story) claim(now time.Time) string {
	step := intent.Next(s.record, now)
	if step.Kind != intent.Invoke {
		return "not granted: " + told(step)
	}
	a := intent.Attempt{
		Number: step.Attempt, Generation: s.record.Generation,
		ClaimedAt: now, LeaseUntil: now.Add(s.record.Rules.Timeout + grace),
	}
	sendBy := intent.SendBy(s.record, now, a.LeaseUntil)
	if s.record.FirstSentAt.IsZero() {
		s.record.FirstSentAt = now
	}
	s.record.State = intent.Invoking
	s.record.Attempts = append(s.record.Attempts, a)
	return fmt.Sprintf("attempt %d granted (%s), lease until %s, send by %s", a.Number, step.Reason, told(a.LeaseUntil), told(sendBy))
}

// evidence does what the outbox does: a definite outcome is never replaced, an unknown one
// gives way to a definite one.
func (s *story) evidence(t *testing.T, d *datadriven.TestData) string {
	var number int
	d.ScanArgs(t, "attempt", &number)
	if number < 1 || number > len(s.record.Attempts) {
		d.Fatalf(t, "there is no attempt %d", number)
	}
	a := &s.record.Attempts[number-1]
	outcome := intent.Unknown
	for _, o := range []intent.Outcome{intent.Applied, intent.NotApplied} {
		if d.HasArg(string(o)) {
			outcome = o
		}
	}
	if a.Outcome == intent.Applied || a.Outcome == intent.NotApplied || a.Outcome == outcome {
		return "kept: " + string(a.Outcome)
	}
	a.Outcome, a.EvidenceAt = outcome, clock(t, d)
	a.Final, a.InProgress, a.RetryAfter = d.HasArg("final"), d.HasArg("in-progress"), duration(t, d, "retry-after", 0)
	said := fmt.Sprintf("attempt %d: %s", number, outcome)
	if d.HasArg("code") {
		var code string
		d.ScanArgs(t, "code", &code)
		said += " (" + code + ")"
	}
	return said
}

func (s *story) next(now time.Time) string {
	step := intent.Next(s.record, now)
	if step.Kind == intent.Settle || step.Kind == intent.Park {
		if !intent.CanMove(s.record.State, step.To) {
			return fmt.Sprintf("%s, but %s cannot become %s", told(step), s.record.State, step.To)
		}
		s.record.State = step.To
	}
	return told(step)
}

// told prints a step or a time the way people say it.
func told(v any) string {
	switch v := v.(type) {
	case time.Time:
		return v.Sub(epoch).String()
	case intent.Step:
		words := []string{string(v.Kind)}
		switch v.Kind {
		case intent.Invoke:
			words = append(words, fmt.Sprintf("attempt %d", v.Attempt))
		case intent.Wait:
			words = append(words, "until", told(v.At))
		case intent.Settle, intent.Park:
			words = append(words, string(v.To))
		case intent.Stop:
		}
		return strings.Join(append(words, "("+v.Reason+")"), " ")
	}
	return fmt.Sprint(v)
}

func clock(t *testing.T, d *datadriven.TestData) time.Time {
	if !d.HasArg("at") {
		d.Fatalf(t, "say at=")
	}
	return epoch.Add(duration(t, d, "at", 0))
}

func duration(t *testing.T, d *datadriven.TestData, name string, otherwise time.Duration) time.Duration {
	var text string
	if !d.MaybeScanArgs(t, name, &text) {
		return otherwise
	}
	parsed, err := time.ParseDuration(text)
	if err != nil {
		d.Fatalf(t, "%s: %v", name, err)
	}
	return parsed
}
