package outbox_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

// parkedIn returns an intent in doubt whose only attempt may have had its effect, and its claim.
func (b bundle) parkedIn(t *testing.T, key string, rules intent.Rules) (outbox.Row, outbox.Claim) {
	t.Helper()
	c := b.granted(t, b.insert(t, propose(key, rules)))
	ev := of(c, intent.Unknown, "connection_lost")
	row := b.journal(t, c.Row, &ev)
	if row.State != intent.InDoubt {
		t.Fatalf("%s, %+v", row.State, row.Next())
	}
	return row, c
}

// in returns an intent in the state.
func (b bundle) in(t *testing.T, state intent.State, key string) outbox.Row {
	t.Helper()
	ended := func(outcome intent.Outcome) outbox.Row {
		c := b.granted(t, b.insert(t, propose(key, opaque())))
		ev := of(c, outcome, "")
		ev.Final = true
		return b.journal(t, c.Row, &ev)
	}
	var row outbox.Row
	var err error
	switch state {
	case intent.Submitted: // is no row among the intents
	case intent.AwaitingConfirmation:
		p := propose(key, opaque())
		p.ConfirmWithin = 24 * time.Hour
		row = b.insert(t, p)
	case intent.Recorded:
		row = b.insert(t, propose(key, opaque()))
	case intent.Invoking:
		row = b.granted(t, b.insert(t, propose(key, opaque()))).Row
	case intent.InDoubt:
		row, _ = b.parkedIn(t, key, opaque())
	case intent.Completed:
		row = ended(intent.Applied)
	case intent.Failed:
		row = ended(intent.NotApplied)
	case intent.Refused:
		row, err = b.Refuse(t.Context(), denial(b.insert(t, propose(key, opaque()))), seal)
	case intent.Cancelled:
		row, err = b.Cancel(t.Context(), b.insert(t, propose(key, opaque())).ID, outbox.Decider{Principal: "mallory"}, seal)
	}
	if err != nil || row.State != state {
		t.Fatalf("%s, %v; want %s", row.State, err, state)
	}
	return row
}

var statement = outbox.Decider{Principal: "eve", Note: "on the statement"}

// decisionsOf is every decision of an operator.
func (b bundle) decisionsOf(t *testing.T) map[intent.DecisionKind]func(intent.ID) (outbox.Row, error) {
	resolve := func(kind intent.DecisionKind) func(intent.ID) (outbox.Row, error) {
		return func(id intent.ID) (outbox.Row, error) {
			return b.Resolve(t.Context(), id, outbox.Resolution{Kind: kind}, statement, seal)
		}
	}
	return map[intent.DecisionKind]func(intent.ID) (outbox.Row, error){
		intent.ResolveApplied: resolve(intent.ResolveApplied), intent.ResolveNotApplied: resolve(intent.ResolveNotApplied),
		intent.Retry:       resolve(intent.Retry),
		intent.Cancel:      func(id intent.ID) (outbox.Row, error) { return b.Cancel(t.Context(), id, statement, seal) },
		intent.Inquire:     func(id intent.ID) (outbox.Row, error) { return b.Inquire(t.Context(), id, statement, seal) },
		intent.Reissue:     func(id intent.ID) (outbox.Row, error) { return b.Reissue(t.Context(), id, statement, nil, renewal) },
		intent.Acknowledge: func(id intent.ID) (outbox.Row, error) { return b.Acknowledge(t.Context(), id, statement) },
	}
}

func TestEachDecisionIsTakenInItsStatesAndInNoOthers(t *testing.T) {
	t.Parallel()
	type row struct {
		applied, notApplied, retry, cancel, inquire, reissue string
	}
	notDoubtful := row{applied: "not_in_doubt", notApplied: "not_in_doubt", retry: "not_in_doubt", inquire: "not_in_doubt", reissue: "not_reissuable"}
	with := func(r row, change func(*row)) row { change(&r); return r }
	open := with(notDoubtful, func(r *row) { r.cancel = "cancelled" })
	ended := with(notDoubtful, func(r *row) { r.cancel = "already_ended" })
	table := map[intent.State]row{
		intent.AwaitingConfirmation: open,
		intent.Recorded:             open,
		intent.Invoking:             with(notDoubtful, func(r *row) { r.cancel = "invoking" }),
		intent.InDoubt: {applied: "completed", notApplied: "failed", retry: "retry_refused", cancel: "in_doubt", inquire: "no_lookup",
			reissue: "not_reissuable"},
		intent.Completed: ended,
		intent.Failed:    with(ended, func(r *row) { r.reissue = "recorded" }),
		intent.Refused:   ended,
		intent.Cancelled: with(ended, func(r *row) { r.cancel = "cancelled" }),
	}
	b := start(t)
	for _, state := range intent.States() {
		want := table[state]
		for kind, says := range map[intent.DecisionKind]string{
			intent.ResolveApplied: want.applied, intent.ResolveNotApplied: want.notApplied, intent.Retry: want.retry,
			intent.Cancel: want.cancel, intent.Inquire: want.inquire, intent.Reissue: want.reissue, intent.Acknowledge: "no_alert",
		} {
			t.Run(fmt.Sprintf("%s/%s", state, kind), func(t *testing.T) {
				before := b.in(t, state, fmt.Sprintf("order-%s-%s", state, kind))
				decided := len(before.Decided)
				b.commits.Take()
				after, err := b.decisionsOf(t)[kind](before.ID)
				flushed := b.commits.Take().Flushed
				stands := b.load(t, before.ID)
				if err != nil { // a refusal changes nothing
					if string(intent.CodeOf(err)) != says || stands.Version != before.Version || stands.State != state || len(stands.Decided) != decided {
						t.Errorf("%v; it was %+v and is %+v; want %s", err, before, stands, says)
					}
					return
				}
				if string(after.State) != says || stands.State != after.State || stands.Version != after.Version {
					t.Errorf("returned %s at version %d, stands %s at version %d; want %s", after.State, after.Version, stands.State, stands.Version, says)
				}
				if state == intent.Cancelled && kind == intent.Cancel {
					if len(stands.Decided) != decided || stands.Version != before.Version {
						t.Errorf("a second cancellation changed it: %+v", stands)
					}
					return
				}
				if len(stands.Decided) != decided+1 || stands.Decided[decided].Kind != kind || stands.Version <= before.Version || flushed != 1 {
					t.Errorf("decisions %+v at version %d after %d, in %d flushed commits", stands.Decided, stands.Version, before.Version, flushed)
				}
			})
		}
	}
}

func TestAResolutionEndsTheIntentWithItsReceiptAndItsResult(t *testing.T) {
	t.Parallel()
	b := start(t)
	row, _ := b.parkedIn(t, "order-1", opaque())
	as := outbox.Resolution{Kind: intent.ResolveApplied, MediaType: "application/json", Result: []byte(`{"id":"cap_1"}`)}
	row, err := b.Resolve(t.Context(), row.ID, as, statement, seal)
	if err != nil || row.State != intent.Completed || !row.DueAt.IsZero() {
		t.Fatalf("%+v, %v", row, err)
	}
	if got := b.receipt(t, row.ID); got != "completed resolved_applied 1 application/json, 14 of 14 bytes" {
		t.Errorf("receipt %q", got)
	}
	if media, body, err := b.result(t, row.ID); err != nil || media != "application/json" || string(body) != `{"id":"cap_1"}` {
		t.Errorf("the answer is %s %s, %v", media, body, err)
	}

	row, _ = b.parkedIn(t, "order-2", opaque())
	row, err = b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveNotApplied}, statement, seal)
	if err != nil || row.State != intent.Failed {
		t.Fatalf("%+v, %v", row, err)
	}
	if got := b.receipt(t, row.ID); got != "failed resolved_not_applied 1 " {
		t.Errorf("receipt %q", got)
	}
	list, err := b.Decisions(t.Context(), row.ID)
	if err != nil || len(list) != 1 || list[0].Principal != "eve" || list[0].Note != "on the statement" || list[0].Commitment != row.Commitment || list[0].Generation != 1 {
		t.Errorf("%+v, %v", list, err)
	}
}

func TestOfTwentyResolutionsAtOnceOneIsTakenAndTheOthersAreToldWhose(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=16")
	row, _ := b.parkedIn(t, "order-1", opaque())
	taken := make([]error, 20)
	var group sync.WaitGroup
	for i := range taken {
		group.Go(func() {
			kind := []intent.DecisionKind{intent.ResolveApplied, intent.ResolveNotApplied}[i%2]
			by := outbox.Decider{Principal: fmt.Sprintf("operator-%d", i), Note: "I know"}
			_, taken[i] = b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: kind}, by, seal)
		})
	}
	group.Wait()
	list, err := b.Decisions(t.Context(), row.ID)
	if err != nil || len(list) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	told := list[0].Principal + " resolved it as "
	count := 0
	for _, err := range taken {
		switch {
		case err == nil:
			count++
		case intent.CodeOf(err) != intent.CodeNotInDoubt || !strings.Contains(err.Error(), told):
			t.Errorf("%v; want %q", err, told)
		}
	}
	if count != 1 {
		t.Errorf("%d were taken", count)
	}
}

func TestTheSameResolutionAgainChangesNothingAndAnotherIsTold(t *testing.T) {
	t.Parallel()
	b := start(t)
	row, _ := b.parkedIn(t, "order-1", opaque())
	as := outbox.Resolution{Kind: intent.ResolveApplied, MediaType: "application/json", Result: []byte(`{}`)}
	first, err := b.Resolve(t.Context(), row.ID, as, statement, seal)
	if err != nil {
		t.Fatal(err)
	}
	if again, err := b.Resolve(t.Context(), row.ID, as, statement, seal); err != nil || again.Version != first.Version {
		t.Errorf("version %d after %d, %v", again.Version, first.Version, err)
	}
	other := as
	other.Result = []byte(`{"id":"cap_2"}`)
	for name, resolve := range map[string]func() (outbox.Row, error){
		"another result": func() (outbox.Row, error) { return b.Resolve(t.Context(), row.ID, other, statement, seal) },
		"no result": func() (outbox.Row, error) {
			return b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveApplied}, statement, seal)
		},
		"another note": func() (outbox.Row, error) {
			return b.Resolve(t.Context(), row.ID, as, outbox.Decider{Principal: "eve", Note: "a dream"}, seal)
		},
		"another person": func() (outbox.Row, error) {
			return b.Resolve(t.Context(), row.ID, as, outbox.Decider{Principal: "bob", Note: statement.Note}, seal)
		},
	} {
		if _, err := resolve(); intent.CodeOf(err) != intent.CodeNotInDoubt {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAResolutionGivesWayToEvidenceThatHasCome(t *testing.T) {
	t.Parallel()
	b := start(t)
	row, c := b.parkedIn(t, "order-1", opaque())
	b.evidence(t, row, of(c, intent.Applied, "")) // and nobody has journaled it yet
	_, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveNotApplied}, statement, seal)
	if intent.CodeOf(err) != intent.CodeNotInDoubt || !strings.Contains(err.Error(), "evidence has come") {
		t.Errorf("%v", err)
	}
	if ended := b.journal(t, row, nil); ended.State != intent.Completed {
		t.Errorf("%s", ended.State)
	}
}

func TestLateTruthAgainstAResolutionRaisesAnAlertThatIsAcknowledgedOnce(t *testing.T) {
	t.Parallel()
	b := start(t)
	row, c := b.parkedIn(t, "order-1", opaque())
	if _, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveNotApplied}, statement, seal); err != nil {
		t.Fatal(err)
	}
	late := b.evidence(t, row, of(c, intent.Applied, ""))
	if late.State != intent.Failed || late.Alert != intent.ReasonAppliedAfterAll {
		t.Fatalf("%s, alert %q", late.State, late.Alert)
	}
	if _, err := b.Reissue(t.Context(), row.ID, statement, nil, renewal); intent.CodeOf(err) != intent.CodeNotReissuable {
		t.Errorf("issued again although it happened: %v", err)
	}
	done, err := b.Acknowledge(t.Context(), row.ID, eve)
	if err != nil || done.Alert != "" || done.State != intent.Failed || done.Version != late.Version+1 {
		t.Fatalf("%+v, %v", done, err)
	}
	if _, err := b.Acknowledge(t.Context(), row.ID, eve); intent.CodeOf(err) != intent.CodeNoAlert || !strings.Contains(err.Error(), "eve acknowledged its alert") {
		t.Errorf("a second time: %v", err)
	}
	if _, err := b.Reissue(t.Context(), row.ID, statement, nil, renewal); intent.CodeOf(err) != intent.CodeNotReissuable {
		t.Errorf("issued again after the acknowledgement: %v", err)
	}
	if got := b.receipt(t, row.ID); got != "failed resolved_not_applied 1  and failed applied_after_all 1 " {
		t.Errorf("receipts %q", got)
	}
}

func TestAProviderIsAskedAgainOnceAtATime(t *testing.T) {
	t.Parallel()
	b := start(t)
	rules := reconcilable()
	rules.MaxLookups = 1
	b.setClock(t, noon)
	row, _ := b.doubtful(t, rules)
	b.setClock(t, noon.Add(time.Hour))
	grant := b.beginLookup(t, b.load(t, row.ID))
	b.recordLookup(t, grant.Row, outbox.Found{Token: lookupToken(1), Finding: intent.Unclear, Code: "http_503"})
	row = b.journal(t, row, nil)
	if why := row.ParkedFor(); why != intent.ReasonLookupsSpent {
		t.Fatalf("%s, parked for %q", row.State, why)
	}
	b.setClock(t, noon.Add(2*time.Hour))
	asked, err := b.Inquire(t.Context(), row.ID, eve, seal)
	if err != nil || asked.Next().Kind != intent.Reconcile || asked.DueAt.IsZero() {
		t.Fatalf("%+v, %v", asked.Next(), err)
	}
	if again, err := b.Inquire(t.Context(), row.ID, statement, seal); err != nil || again.Version != asked.Version {
		t.Errorf("while it is being asked: %+v, %v", again, err)
	}
	// Whoever knows better in the meantime may say so.
	if done, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: intent.ResolveApplied}, statement, seal); err != nil || done.State != intent.Completed {
		t.Errorf("%s, %v", done.State, err)
	}
}

func TestOnlyAResolutionResolves(t *testing.T) {
	t.Parallel()
	b := start(t)
	row, _ := b.parkedIn(t, "order-1", opaque())
	for _, kind := range []intent.DecisionKind{"", intent.Confirm, intent.Reissue} {
		if _, err := b.Resolve(t.Context(), row.ID, outbox.Resolution{Kind: kind}, statement, seal); intent.CodeOf(err) != intent.CodeInvalidResolution {
			t.Errorf("%q: %v", kind, err)
		}
	}
}

func TestADecisionOnAnIntentThatIsNotThereIsNone(t *testing.T) {
	t.Parallel()
	b := start(t)
	for kind, decide := range b.decisionsOf(t) {
		if _, err := decide(intent.ID{1}); intent.CodeOf(err) != intent.CodeIntentNotFound {
			t.Errorf("%s: %v", kind, err)
		}
	}
}
