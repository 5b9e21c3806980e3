package intent_test

import (
	"testing"
	"time"

	"writ/intent"
)

func TestWhatHappenedIsReadFromTheWholeRecord(t *testing.T) {
	t.Parallel()
	lost, unknown := intent.Attempt{}, intent.Attempt{Outcome: intent.Unknown}
	refused, applied := intent.Attempt{Outcome: intent.NotApplied}, intent.Attempt{Outcome: intent.Applied}
	already := intent.Attempt{Outcome: intent.NotApplied, Already: true}
	stored := intent.Attempt{Outcome: intent.NotApplied, Stored: true}
	absent := func(after time.Duration) []intent.Lookup {
		return []intent.Lookup{{Generation: 1, Finding: intent.Absent, Attempts: 5, AskedAt: epoch.Add(after)}}
	}
	said := func(kind intent.DecisionKind) []intent.Decided {
		return []intent.Decided{{Kind: kind, Generation: 1, Attempts: 5}}
	}
	for name, tc := range map[string]struct {
		class     intent.Class
		attempts  []intent.Attempt
		lookups   []intent.Lookup
		decisions []intent.Decided
		replays   bool
		want      intent.Outcome
	}{
		"nothing was claimed":                                {class: intent.Keyed, want: intent.NotApplied},
		"an attempt did not answer":                          {class: intent.Keyed, attempts: []intent.Attempt{lost}, want: intent.Unknown},
		"a refusal after one that did not answer":            {class: intent.Opaque, attempts: []intent.Attempt{lost, refused}, want: intent.Unknown},
		"only refusals":                                      {class: intent.Opaque, attempts: []intent.Attempt{refused, refused}, want: intent.NotApplied},
		"a success before one that did not answer":           {class: intent.Keyed, attempts: []intent.Attempt{applied, lost}, want: intent.Applied},
		"a success of an earlier generation":                 {class: intent.Keyed, attempts: []intent.Attempt{{Generation: -1, Outcome: intent.Applied}, refused}, want: intent.Applied},
		"it was there already, after an open attempt":        {class: intent.Keyed, attempts: []intent.Attempt{unknown, already}, want: intent.Applied},
		"it was there already, after a refusal":              {class: intent.Keyed, attempts: []intent.Attempt{refused, already}, want: intent.NotApplied},
		"it was there already, before an open attempt":       {class: intent.Keyed, attempts: []intent.Attempt{already, unknown}, want: intent.Unknown},
		"a stored refusal of a provider that stores them":    {class: intent.Keyed, attempts: []intent.Attempt{lost, stored}, replays: true, want: intent.NotApplied},
		"a stored refusal of one of which that is not known": {class: intent.Keyed, attempts: []intent.Attempt{lost, stored}, want: intent.Unknown},
		"a lookup found nothing before the settle delay":     {class: intent.Reconcilable, attempts: []intent.Attempt{lost}, lookups: absent(45*time.Second - 1), want: intent.Unknown},
		"a lookup found nothing after it":                    {class: intent.Reconcilable, attempts: []intent.Attempt{lost}, lookups: absent(45 * time.Second), want: intent.NotApplied},
		"a lookup found nothing before it, by a fast clock":  {class: intent.Reconcilable, attempts: []intent.Attempt{lost}, lookups: []intent.Lookup{{Generation: 1, Finding: intent.Absent, AskedAt: epoch.Add(time.Hour)}}, want: intent.Unknown},
		"a person said so":                                   {class: intent.Keyed, attempts: []intent.Attempt{unknown}, decisions: said(intent.ResolveApplied), want: intent.Applied},
		"a person said so, and the late answer refutes it":   {class: intent.Keyed, attempts: []intent.Attempt{refused}, decisions: said(intent.ResolveApplied), want: intent.NotApplied},
		"a lookup found it":                                  {class: intent.Reconcilable, attempts: []intent.Attempt{lost}, lookups: []intent.Lookup{{Generation: 1, Finding: intent.Found}}, want: intent.Applied},
		"a person said that it happened":                     {class: intent.Opaque, attempts: []intent.Attempt{lost}, decisions: said(intent.ResolveApplied), want: intent.Applied},
		"a person said that it did not":                      {class: intent.Opaque, attempts: []intent.Attempt{lost}, decisions: said(intent.ResolveNotApplied), want: intent.NotApplied},
		"a person said so, and it did":                       {class: intent.Opaque, attempts: []intent.Attempt{applied}, decisions: said(intent.ResolveNotApplied), want: intent.Applied},
		"a lost transaction was rolled back":                 {class: intent.Transactional, attempts: []intent.Attempt{lost}, want: intent.NotApplied},
		"a lost read":                                        {class: intent.Read, attempts: []intent.Attempt{unknown}, want: intent.NotApplied},
		"a class of a later release":                         {class: "later", attempts: []intent.Attempt{lost}, want: intent.Unknown},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := intent.Record{State: intent.Invoking, Generation: 1, Lookups: tc.lookups, Decisions: tc.decisions, Rules: intent.Rules{
				Class: tc.class, Window: intent.Forever, ReplaysErrors: tc.replays, SettleDelay: 30 * time.Second,
			}}
			for i, a := range tc.attempts {
				a.Number, a.Generation, a.ClaimedAt, a.LeaseUntil = i+1, 1+a.Generation, epoch, epoch.Add(15*time.Second)
				r.Attempts = append(r.Attempts, a)
			}
			if got := intent.Happened(r); got != tc.want {
				t.Errorf("happened: %s, want %s", got, tc.want)
			}
		})
	}
}

func TestEvidenceContradictsAnEndThatSaysOtherwise(t *testing.T) {
	t.Parallel()
	attempts := func(outcomes ...intent.Outcome) (list []intent.Attempt) {
		for i, o := range outcomes {
			list = append(list, intent.Attempt{Number: i + 1, Generation: 1, Outcome: o})
		}
		return list
	}
	different := attempts(intent.Applied, intent.Applied)
	different[0].EffectID, different[1].EffectID = "ch_1", "ch_2"
	resolved := []intent.Decided{{Kind: intent.ResolveApplied, Generation: 1, Attempts: 5}}
	for name, tc := range map[string]struct {
		state     intent.State
		class     intent.Class
		attempts  []intent.Attempt
		decisions []intent.Decided
		want      string
	}{
		"completed and applied":                            {state: intent.Completed, attempts: attempts(intent.Unknown, intent.Applied)},
		"completed and refused":                            {state: intent.Completed, attempts: attempts(intent.NotApplied), want: intent.ReasonNotAppliedAfterAll},
		"completed by a person's word, which is open":      {state: intent.Completed, attempts: attempts(intent.Unknown), decisions: resolved},
		"completed by a person's word, which is refuted":   {state: intent.Completed, attempts: attempts(intent.NotApplied), decisions: resolved, want: intent.ReasonNotAppliedAfterAll},
		"completed by a person's word, which is confirmed": {state: intent.Completed, attempts: attempts(intent.Applied), decisions: resolved},
		"completed with two effects":                       {state: intent.Completed, attempts: different, want: intent.ReasonPerformedTwice},
		"failed and refused":                               {state: intent.Failed, attempts: attempts(intent.NotApplied)},
		"failed and applied":                               {state: intent.Failed, attempts: attempts(intent.NotApplied, intent.Applied), want: intent.ReasonAppliedAfterAll},
		"failed with two effects":                          {state: intent.Failed, attempts: different, want: intent.ReasonPerformedTwice},
		"cancelled and applied":                            {state: intent.Cancelled, attempts: attempts(intent.Applied), want: intent.ReasonAppliedAfterAll},
		"refused and applied":                              {state: intent.Refused, attempts: attempts(intent.Applied), want: intent.ReasonAppliedAfterAll},
		"a read that failed and was answered":              {state: intent.Failed, class: intent.Read, attempts: attempts(intent.Applied)},
		"it has not ended":                                 {state: intent.InDoubt, attempts: different},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.class == "" {
				tc.class = intent.Keyed
			}
			r := intent.Record{State: tc.state, Generation: 1, Attempts: tc.attempts, Decisions: tc.decisions, Rules: intent.Rules{Class: tc.class}}
			if got := intent.Contradiction(r); got != tc.want {
				t.Errorf("%q, want %q", got, tc.want)
			}
		})
	}
}

func TestAnIntentIsCancelledUntilAPersonLetsItGoOn(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		kinds []intent.DecisionKind
		want  bool
	}{
		"nobody decided":                   {nil, false},
		"somebody cancelled":               {[]intent.DecisionKind{intent.Confirm, intent.Cancel}, true},
		"somebody had the provider asked":  {[]intent.DecisionKind{intent.Cancel, intent.Inquire}, true},
		"somebody let it be tried again":   {[]intent.DecisionKind{intent.Cancel, intent.Retry}, false},
		"and somebody cancelled once more": {[]intent.DecisionKind{intent.Cancel, intent.Retry, intent.Cancel}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := intent.Record{State: intent.Invoking, Generation: 1}
			for _, kind := range tc.kinds {
				r.Decisions = append(r.Decisions, r.Decide(kind))
			}
			if r.Cancelled() != tc.want {
				t.Errorf("cancelled: %v", r.Cancelled())
			}
		})
	}
}
