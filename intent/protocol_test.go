package intent_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"

	"writ/intent"
)

// The stories are in testdata/protocol. Each tells, on one clock, what happens to an
// intent and what the rule says next:
//
//	intent class=keyed [window=24h|forever|unknown] [timeout=10s] [attempts=3] [backoff=1s] [max-backoff=1m] [retryable]
//	       [serial] [replays-errors] [lookup] [settle=30s] [lookups=10]
//	       [confirm-by=T]              it waits for a person until T
//	claim at=T                         grant the next attempt, if the rule says so,
//	                                   [version=N] to a claimant that knows version N, [token=X] under that token
//	evidence attempt=N at=T OUTCOME    record what the attempt did (applied, not_applied, unknown), with
//	                                   [code=C] [final] [in-progress] [retry-after=D] [stored] [already] [effect=ID]
//	ask at=T                           ask the provider, if the rule says so
//	answer lookup=N at=T FINDING       record what it said (found, absent, unclear), with
//	                                   [effect=ID] [effects=N] [retry-after=D]
//	lookup at=T FINDING                both at once
//	decide at=T KIND                   a person decides, if that may be decided now
//	revoke at=T                        the policy says no
//	repeat at=T STATE                  the same request comes again, and is decided on anew if the rule lets it:
//	                                   recorded (allowed), awaiting_confirmation (for 24h) or refused
//	hold until=T | lift                no claim is granted before T | a claim may be granted again
//	over-budget until=T | counted      a budget has no room for it before T | all budgets have counted it
//	restored until=T | trusted         the database may have lost commits | an operator has run after-restore
//	presume at=T                       what after-restore writes for attempts that nobody knows of any more
//	next at=T                          ask for the next step and take it, unless it needs a tool
//	row at=T                           where the row stands: state, version, generation, and what is known of the effect
//	by-hand generation=N               somebody changes the row in the database, against all rules
//
// Run with -rewrite to write the output that the rule gives now.
func TestTheRuleTakesEveryStoryToTheEndItTells(t *testing.T) {
	t.Parallel()
	tell(t, func(*story) {})
}

func TestEveryReasonIsGivenInSomeStory(t *testing.T) {
	t.Parallel()
	given := map[string]bool{}
	tell(t, func(s *story) {
		for _, reason := range s.reasons {
			given[reason] = true
		}
	})
	// The rule tells of intents; these are of requests that are none yet.
	for _, reason := range []string{intent.ReasonEnqueued, intent.ReasonParked, intent.ReasonDropped} {
		given[reason] = true
	}
	for _, r := range intent.Reasons() {
		if !given[r.Reason] {
			t.Errorf("no story gives the reason %s", r.Reason)
		}
		delete(given, r.Reason)
	}
	delete(given, string(intent.CodeConfirmationExpired)) // a refusal has a code
	for reason := range given {
		t.Errorf("reason %s is not in the table", reason)
	}
}

func TestTheTransitionsAreThoseThatTheStoriesMake(t *testing.T) {
	t.Parallel()
	made := map[transition]bool{}
	tell(t, func(s *story) {
		for _, m := range s.row.moves {
			made[m] = true
		}
	})
	for _, from := range states {
		for _, to := range states {
			if may := intent.CanMove(from, to); may != made[transition{from, to}] {
				t.Errorf("from %s to %s: may %v, some story does %v", from, to, may, !may)
			}
		}
	}
}

// telling lets one test at a time read the stories, which -rewrite writes.
var telling sync.Mutex

// tell runs every story and looks at each intent of it when it is over.
func tell(t *testing.T, look func(*story)) {
	telling.Lock()
	defer telling.Unlock()
	datadriven.Walk(t, "testdata/protocol", func(t *testing.T, path string) {
		s := &story{}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "intent" {
				look(s)
				s = begin(t, d)
				return s.stands()
			}
			return s.run(t, d)
		})
		look(s)
	})
}

// story is an intent and the reasons that were given for what is done with it.
type story struct {
	row
	reasons []string
	// alerted is the alert that was told.
	alerted string
}

// epoch is the time that the scenarios call 0s.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func begin(t *testing.T, d *datadriven.TestData) *story {
	rules := intent.Rules{
		Timeout: 10 * time.Second, MaxAttempts: 3, InitialBackoff: time.Second, MaxBackoff: time.Minute,
		Retryable: d.HasArg("retryable"), Serial: d.HasArg("serial"), ReplaysErrors: d.HasArg("replays-errors"),
	}
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
	if rules.Lookup = d.HasArg("lookup") || rules.Class == intent.Reconcilable; rules.Lookup {
		rules.SettleDelay, rules.MaxLookups = duration(t, d, "settle", 30*time.Second), 10
		d.MaybeScanArgs(t, "lookups", &rules.MaxLookups)
	}
	s := &story{row: newRow(rules)}
	if d.HasArg("confirm-by") {
		s.State, s.ConfirmBy = intent.AwaitingConfirmation, epoch.Add(duration(t, d, "confirm-by", 0))
		d.MaybeScanArgs(t, "approvers", &s.Approvers)
	}
	return s
}

func (s *story) stands() string { return fmt.Sprintf("%s, generation %d", s.State, s.Generation) }

func (s *story) run(t *testing.T, d *datadriven.TestData) string {
	switch d.Cmd {
	case "claim":
		return s.claim(t, d)
	case "evidence":
		return s.evidence(t, d)
	case "ask":
		_, said := s.ask(clock(t, d))
		return said
	case "answer":
		return s.answer(t, d, number(t, d, "lookup", 0))
	case "lookup":
		n, said := s.ask(clock(t, d))
		if n == 0 {
			return said
		}
		return s.answer(t, d, n)
	case "decide":
		return s.decide(t, d)
	case "revoke":
		s.revoke(clock(t, d))
		return s.told(intent.Next(s.Record, clock(t, d)))
	case "repeat":
		if !s.repeat(clock(t, d), one(t, d, intent.Recorded, intent.AwaitingConfirmation, intent.Refused)) {
			return fmt.Sprintf("stands: %s, generation %d", s.State, s.Generation)
		}
		return s.stands()
	case "hold":
		s.HeldUntil = epoch.Add(duration(t, d, "until", 0))
		return "held until " + moment(s.HeldUntil)
	case "lift":
		s.HeldUntil = time.Time{}
		return "not held"
	case "over-budget":
		s.BudgetUntil = epoch.Add(duration(t, d, "until", 0))
		return "not counted, looked at again at " + moment(s.BudgetUntil)
	case "counted":
		s.BudgetUntil = time.Time{}
		return "counted"
	case "restored":
		s.RestoredUntil = epoch.Add(duration(t, d, "until", 0))
		return "restored, looked at again at " + moment(s.RestoredUntil)
	case "trusted":
		s.RestoredUntil = time.Time{}
		return "trusted"
	case "presume":
		s.presume(clock(t, d), epoch)
		return fmt.Sprintf("attempt %d presumed, lease until %s: %s", len(s.Attempts), moment(s.Attempts[len(s.Attempts)-1].LeaseUntil), s.stands())
	case "next":
		return s.next(clock(t, d))
	case "row":
		return fmt.Sprintf("%s, version %d, generation %d: %s", s.State, s.Version, s.Generation, intent.Happened(s.Record))
	case "by-hand":
		s.Generation, s.FirstSentAt, s.State = number(t, d, "generation", 0), time.Time{}, intent.Recorded
		return s.stands()
	}
	d.Fatalf(t, "unknown command %q", d.Cmd)
	return ""
}

func (s *story) claim(t *testing.T, d *datadriven.TestData) string {
	now, version := clock(t, d), int64(number(t, d, "version", int(s.Version)))
	var token string
	d.MaybeScanArgs(t, "token", &token)
	current, known := s.Version, len(s.Attempts)
	sendBy := intent.SendBy(s.Record, now, now.Add(s.Rules.Timeout+grace))
	a, granted, step := s.row.claim(now, version, token)
	switch {
	case granted && a.Number <= known:
		return fmt.Sprintf("attempt %d was granted already", a.Number)
	case granted:
		s.reasons = append(s.reasons, step.Reason)
		return fmt.Sprintf("attempt %d granted (%s), lease until %s, send by %s", a.Number, step.Reason, moment(a.LeaseUntil), moment(sendBy))
	case version != current:
		return fmt.Sprintf("lost the race, the row is at version %d: %s", current, s.told(step))
	}
	return "not granted: " + s.told(step)
}

func (s *story) evidence(t *testing.T, d *datadriven.TestData) string {
	n := number(t, d, "attempt", 0)
	if n < 1 || n > len(s.Attempts) {
		d.Fatalf(t, "there is no attempt %d", n)
	}
	ev := intent.Attempt{
		Outcome: one(t, d, intent.Applied, intent.NotApplied, intent.Unknown), EvidenceAt: clock(t, d),
		Final: d.HasArg("final"), InProgress: d.HasArg("in-progress"), RetryAfter: duration(t, d, "retry-after", 0),
		Stored: d.HasArg("stored"), Already: d.HasArg("already"),
	}
	d.MaybeScanArgs(t, "effect", &ev.EffectID)
	if !s.learn(n, ev) {
		return "kept: " + string(s.Attempts[n-1].Outcome)
	}
	said := fmt.Sprintf("attempt %d: %s", n, ev.Outcome)
	var code string
	if d.MaybeScanArgs(t, "code", &code) {
		said += " (" + code + ")"
	}
	return said + s.amended()
}

func (s *story) ask(now time.Time) (int, string) {
	step := intent.Next(s.Record, now)
	if step.Kind != intent.Reconcile {
		return 0, "not asked: " + s.told(step)
	}
	s.reasons = append(s.reasons, step.Reason)
	n := s.row.ask(now)
	return n, fmt.Sprintf("lookup %d asks", n)
}

func (s *story) answer(t *testing.T, d *datadriven.TestData, n int) string {
	answer := intent.Lookup{
		Finding: one(t, d, intent.Found, intent.Absent, intent.Unclear), AnsweredAt: clock(t, d),
		RetryAfter: duration(t, d, "retry-after", 0), Effects: number(t, d, "effects", 0),
	}
	d.MaybeScanArgs(t, "effect", &answer.EffectID)
	if n < 1 || n > len(s.Lookups) || !s.answered(n, answer) {
		d.Fatalf(t, "no lookup %d is without an answer", n)
	}
	return fmt.Sprintf("lookup %d: %s", n, answer.Finding) + s.amended()
}

// amended tells what was learned against the end, once.
func (s *story) amended() string {
	if s.alert == s.alerted {
		return ""
	}
	s.alerted = s.alert
	reason := s.alert
	if reason == "" {
		reason = intent.ReasonWithdrawn
	}
	s.reasons = append(s.reasons, reason)
	return fmt.Sprintf("; amendment to %s (%s)", s.State, reason)
}

func (s *story) decide(t *testing.T, d *datadriven.TestData) string {
	now := clock(t, d)
	kind := one(t, d, intent.DecisionKinds()...)
	by := "ada"
	d.MaybeScanArgs(t, "by", &by)
	end, made := s.row.decide(now, kind, by)
	switch {
	case !made:
		return "not now: " + s.told(intent.Next(s.Record, now))
	case end.Kind != "":
		return s.told(end)
	}
	return fmt.Sprintf("%s: %s", s.State, s.told(intent.Next(s.Record, now)))
}

func (s *story) next(now time.Time) string {
	step := intent.Next(s.Record, now)
	said := s.told(step)
	s.take(step)
	return said
}

// told prints a step the way people say it, and notes its reason.
func (s *story) told(step intent.Step) string {
	s.reasons = append(s.reasons, step.Reason)
	return told(step)
}

func told(step intent.Step) string {
	words := []string{string(step.Kind)}
	switch step.Kind {
	case intent.Invoke:
		words = append(words, fmt.Sprintf("attempt %d", step.Attempt))
	case intent.Wait:
		words = append(words, "until", moment(step.At))
	case intent.Settle, intent.Park:
		words = append(words, string(step.To))
	case intent.Reconcile, intent.Renew, intent.Stop:
	}
	return strings.Join(append(words, "("+step.Reason+")"), " ")
}

func moment(at time.Time) string { return at.Sub(epoch).String() }

// one returns the word of the command that is among the choices.
func one[W ~string](t *testing.T, d *datadriven.TestData, choices ...W) W {
	i := slices.IndexFunc(choices, func(w W) bool { return d.HasArg(string(w)) })
	if i < 0 {
		d.Fatalf(t, "say one of %v", choices)
	}
	return choices[i]
}

func clock(t *testing.T, d *datadriven.TestData) time.Time {
	if !d.HasArg("at") {
		d.Fatalf(t, "say at=")
	}
	return epoch.Add(duration(t, d, "at", 0))
}

func number(t *testing.T, d *datadriven.TestData, name string, otherwise int) int {
	d.MaybeScanArgs(t, name, &otherwise)
	return otherwise
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
