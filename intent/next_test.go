package intent_test

import (
	"math"
	"testing"
	"time"

	"pgregory.net/rapid"

	"writ/intent"
)

var states = intent.States()

// A record may come from a damaged row or a later release.
func TestNextAnswersWhateverTheRecordHolds(t *testing.T) {
	t.Parallel()
	moment := rapid.Map(rapid.Int64Range(-1e9, 1e9), func(s int64) time.Time { return epoch.Add(time.Duration(s) * time.Second) })
	anyDuration := rapid.OneOf(rapid.Int64Range(0, math.MaxInt64), rapid.Int64Range(-1e12, 1e12), rapid.Just(int64(math.MaxInt64)))
	rapid.Check(t, func(t *rapid.T) {
		wide := func(name string) time.Duration { return time.Duration(anyDuration.Draw(t, name)) }
		r := intent.Record{
			State:       rapid.SampledFrom(append([]intent.State{"", "paused"}, states...)).Draw(t, "state"),
			Generation:  rapid.IntRange(-1, 3).Draw(t, "generation"),
			FirstSentAt: moment.Draw(t, "first sent"),
			Rules: intent.Rules{
				Class:     rapid.SampledFrom(append([]intent.Class{"", "later"}, intent.Classes()...)).Draw(t, "class"),
				Retryable: rapid.Bool().Draw(t, "retryable"), Serial: rapid.Bool().Draw(t, "serial"),
				ReplaysErrors: rapid.Bool().Draw(t, "replays errors"), Lookup: rapid.Bool().Draw(t, "lookup"),
				Timeout:     wide("timeout"),
				MaxAttempts: rapid.IntRange(-1, 50).Draw(t, "max attempts"), InitialBackoff: wide("initial backoff"),
				MaxBackoff: wide("max backoff"), Window: wide("window"),
				SettleDelay: wide("settle delay"), MaxLookups: rapid.IntRange(-1, 5).Draw(t, "max lookups"),
			},
			RevokedAt: rapid.OneOf(rapid.Just(time.Time{}), moment).Draw(t, "revoked"), HeldUntil: moment.Draw(t, "held until"), BudgetUntil: moment.Draw(t, "budget until"),
		}
		for range rapid.IntRange(0, 3).Draw(t, "decisions") {
			r.Decisions = append(r.Decisions, intent.Decided{
				Kind:       rapid.SampledFrom(append([]intent.DecisionKind{"", "later"}, intent.DecisionKinds()...)).Draw(t, "decision"),
				Generation: rapid.IntRange(-1, 3).Draw(t, "decision's generation"),
				Attempts:   rapid.IntRange(-1, 6).Draw(t, "attempts before"), Lookups: rapid.IntRange(-1, 4).Draw(t, "lookups before"),
			})
		}
		for range rapid.IntRange(0, 3).Draw(t, "lookups") {
			r.Lookups = append(r.Lookups, intent.Lookup{
				Number: len(r.Lookups) + 1, Generation: rapid.IntRange(-1, 3).Draw(t, "lookup's generation"),
				Attempts: rapid.IntRange(-1, 6).Draw(t, "attempts before the lookup"),
				AskedAt:  moment.Draw(t, "asked"), AnsweredAt: moment.Draw(t, "answered"), RetryAfter: wide("lookup's retry after"),
				Finding: rapid.SampledFrom(append([]intent.Finding{"", "later"}, intent.Findings()...)).Draw(t, "finding"),
				Effects: rapid.IntRange(-1, 3).Draw(t, "effects"),
			})
		}
		for range rapid.IntRange(0, 5).Draw(t, "attempts") {
			r.Attempts = append(r.Attempts, intent.Attempt{
				Number: len(r.Attempts) + 1, Generation: rapid.IntRange(-1, 3).Draw(t, "attempt's generation"),
				ClaimedAt: moment.Draw(t, "claimed"), LeaseUntil: moment.Draw(t, "lease"), EvidenceAt: moment.Draw(t, "evidence"),
				Outcome: rapid.SampledFrom([]intent.Outcome{"", "maybe", intent.Applied, intent.NotApplied, intent.Unknown}).Draw(t, "outcome"),
				Final:   rapid.Bool().Draw(t, "final"), InProgress: rapid.Bool().Draw(t, "in progress"), RetryAfter: wide("retry after"),
				Stored: rapid.Bool().Draw(t, "stored"), Already: rapid.Bool().Draw(t, "already"),
			})
		}
		now := moment.Draw(t, "now")
		step := intent.Next(r, now)
		if step.Kind == intent.Invoke && r.State.Ended() {
			t.Fatal("something is sent after the end")
		}
		if step.Kind == intent.Invoke && r.Rules.Class != intent.Keyed && !certain(r.Rules.Class) && len(unproven(r)) > 0 {
			t.Fatalf("a tool of class %q is sent again while an attempt is open", r.Rules.Class)
		}
	})
}

func TestBackoffDoublesUpToItsBoundAndNeverOverflows(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		attempts     int
		initial, max time.Duration
		want         time.Duration
	}{
		"the first failure waits the initial backoff": {1, time.Second, time.Minute, time.Second},
		"the second waits twice as long":              {2, time.Second, time.Minute, 2 * time.Second},
		"the bound holds":                             {7, time.Second, time.Minute, time.Minute},
		"a thousand failures":                         {1000, time.Second, time.Minute, time.Minute},
		"a bound at the end of time":                  {1000, time.Second, math.MaxInt64, math.MaxInt64},
		"an initial backoff beyond its half":          {2, math.MaxInt64 - 1, math.MaxInt64, math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := intent.Record{State: intent.Invoking, Generation: 1, Rules: intent.Rules{
				Class: intent.Keyed, Window: intent.Forever, Retryable: true, MaxAttempts: 2000, InitialBackoff: tc.initial, MaxBackoff: tc.max,
			}}
			for n := range tc.attempts {
				r.Attempts = append(r.Attempts, intent.Attempt{Number: n + 1, Generation: 1, Outcome: intent.NotApplied, EvidenceAt: epoch})
			}
			step := intent.Next(r, epoch)
			if step.Kind != intent.Wait || step.At.Sub(epoch) != tc.want {
				t.Errorf("step %+v, want a wait of %s", step, tc.want)
			}
		})
	}
}

func TestAnAttemptMayNotSendAfterItsLeaseOrTheWindowOfAnOpenKey(t *testing.T) {
	t.Parallel()
	lease := epoch.Add(15 * time.Second)
	lost := []intent.Attempt{{Number: 1, Generation: 1}}
	refused := []intent.Attempt{{Number: 1, Generation: 1, Outcome: intent.NotApplied}}
	for name, tc := range map[string]struct {
		class    intent.Class
		window   time.Duration
		attempts []intent.Attempt
		want     time.Duration
	}{
		"the first attempt: the window, as a second one may be sent in it": {intent.Keyed, 12 * time.Second, nil, 12 * time.Second},
		"after a definite failure: the window":                             {intent.Keyed, 12 * time.Second, refused, 12 * time.Second},
		"after the window: nothing more":                                   {intent.Keyed, time.Second, refused, time.Second},
		"a provider of which nobody knows what it remembers: its lease":    {intent.Keyed, 0, nil, 15 * time.Second},
		"after a lost one: the window, if it ends earlier":                 {intent.Keyed, 12 * time.Second, lost, 12 * time.Second},
		"after a lost one: the lease, if it ends earlier":                  {intent.Keyed, time.Hour, lost, 15 * time.Second},
		"a provider that never forgets":                                    {intent.Keyed, intent.Forever, lost, 15 * time.Second},
		"a read":                                                           {intent.Read, 0, lost, 15 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := intent.Record{State: intent.Invoking, Generation: 1, FirstSentAt: epoch, Attempts: tc.attempts,
				Rules: intent.Rules{Class: tc.class, Window: tc.window}}
			if got := intent.SendBy(r, epoch.Add(time.Second), lease).Sub(epoch); got != tc.want {
				t.Errorf("may send until %s, want %s", got, tc.want)
			}
		})
	}
}

// Of the ends, a person can begin only one that failed again, under a new key, and a repeated
// request one that was refused.
func TestExactlyTheFinalStatesHaveNoWayOut(t *testing.T) {
	t.Parallel()
	for _, from := range states {
		leaves := false
		for _, to := range states {
			again := from == intent.Failed && to == intent.Recorded || from == intent.Refused
			leaves = leaves || intent.CanMove(from, to) && !again
		}
		if leaves == from.Ended() {
			t.Errorf("%s: ended %v, but it can be left: %v", from, from.Ended(), leaves)
		}
	}
	if intent.State("paused").Ended() || intent.CanMove("paused", intent.Completed) {
		t.Error("a state of a later release is not an end, and nothing is known of its ways out")
	}
}
