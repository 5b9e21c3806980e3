package writ

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/uuid"

	"writ/activities"
	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/receipts"
	"writ/tools"
	"writ/workflows"
)

// refund is a tool without keys and lookups, whose spec names what is at stake.
var refund = tools.Spec{
	Name: "payments.refund", SideEffectful: true, Provider: "bank", Stake: tools.Stake{Amount: "/amount", Currency: "/currency"},
	OutputSchema: json.RawMessage(`{"type":"object","required":["id"]}`),
}

// doubtful returns an engine and an intent of the tool that is in doubt after one attempt.
func doubtful(t *testing.T, spec tools.Spec) (engine, outbox.Row) {
	t.Helper()
	e := newEngineOver(t, pgtest.Schema(t))
	return e, e.park(t, spec, "order-4711")
}

// park writes an intent of the tool that is in doubt after one attempt.
func (e engine) park(t *testing.T, spec tools.Spec, key intent.RequestKey) outbox.Row {
	t.Helper()
	row, err := e.store.Journal(t.Context(), e.lose(t, spec, key).ID, nil, activities.Seal)
	if err != nil || row.State != intent.InDoubt {
		t.Fatalf("%s, %v", row.State, err)
	}
	return row
}

// lose writes an intent of the tool whose first attempt may have had its effect.
func (e engine) lose(t *testing.T, spec tools.Spec, key intent.RequestKey) outbox.Row {
	t.Helper()
	return e.loseNext(t, e.insert(t, e.propose(t, spec, key)))
}

func (e engine) insert(t *testing.T, p outbox.Proposal) outbox.Row {
	t.Helper()
	row, err := e.store.Insert(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// propose publishes the tool and returns an intent of it that is not written yet.
func (e engine) propose(t *testing.T, spec tools.Spec, key intent.RequestKey) outbox.Proposal {
	t.Helper()
	raw, err := json.Marshal(spec.Publish())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.store.PublishSpecs(t.Context(), []outbox.Spec{{Name: spec.Name, Digest: spec.Digest(), JSON: raw, TaskQueue: "canary"}}); err != nil {
		t.Fatal(err)
	}
	return outbox.Proposal{
		Tenant: DefaultTenant, RequestKey: key, Principal: "till-7", Tool: spec.Name, TaskQueue: "canary", SpecDigest: spec.Digest(),
		Payload: []byte(`{"amount":12.9000000000000000001,"currency":"EUR"}`), EffectContext: []byte(`{}`), Decision: []byte(cmp.Or(e.decision, `{"allow":true}`)),
		IdempotencyKey: intent.DeriveKey(DefaultTenant, spec.Name, key, 1), Rules: spec.Rules(),
	}.Bound()
}

// loseNext makes the next attempt of the intent, which may have had its effect.
func (e engine) loseNext(t *testing.T, row outbox.Row) outbox.Row {
	t.Helper()
	claim, err := e.store.Claim(t.Context(), outbox.ClaimRequest{ID: row.ID, Version: row.Version, DecidedAt: row.ReadAt, Token: uuid.New(), Worker: "worker-1", SpecDigest: row.SpecDigest})
	if err != nil || !claim.Granted {
		t.Fatalf("%+v, %v", claim, err)
	}
	ev := outbox.Evidence{Attempt: claim.Attempt.Number, Token: claim.Attempt.Token, Outcome: intent.Unknown, Code: "connection_lost"}
	if row, err = e.store.RecordEvidence(t.Context(), row.ID, ev, true, activities.Seal); err != nil {
		t.Fatal(err)
	}
	return row
}

var known = Decider{Principal: "eve", Note: "on the statement"}

func TestAResolvedIntentIsAnsweredWithTheResultThatTheOperatorGave(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	v, err := e.Resolve(t.Context(), row.ID, Resolution{As: ResolveApplied, Result: json.RawMessage(`{"id":"re_<1>"}`)}, known)
	if err != nil || v.State != intent.Completed || len(v.Decisions) != 1 || v.Decisions[0].Kind != intent.ResolveApplied {
		t.Fatalf("%+v, %v", v, err)
	}
	if len(e.temporal.started) != 1 || e.temporal.started[0].ID != workflows.ID(row.ID) {
		t.Errorf("Temporal was told %+v", e.temporal.started)
	}
	done, err := e.Watch(t.Context(), row.ID, nil)
	if err != nil || string(done.Answer.JSON) != `{"id":"re_<1>"}` {
		t.Fatalf("%+v, %v", done.Answer, err)
	}
	r, err := receipts.Parse(done.Receipt)
	if err != nil || r.Outcome != intent.Applied || r.Reason != intent.ReasonResolvedApplied || r.ResultDigest == nil || len(r.Decisions) != 1 ||
		r.Decisions[0].Principal != "eve" || r.Decisions[0].Note != "on the statement" || r.Decisions[0].Commitment != r.Commitment {
		t.Errorf("%s, %v", done.Receipt, err)
	}
}

func TestAnIntentResolvedAsNotAppliedFailsAndCanBeIssuedAgain(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	v, err := e.Resolve(t.Context(), row.ID, Resolution{As: ResolveNotApplied}, known)
	if err != nil || v.State != intent.Failed {
		t.Fatalf("%+v, %v", v, err)
	}
	again, err := e.Reissue(t.Context(), row.ID, Decider{Principal: "eve"})
	if err != nil || again.State != intent.Recorded || again.Generation != 2 || len(again.Decisions) != 2 ||
		again.IdempotencyKey != intent.DeriveKey(DefaultTenant, refund.Name, "order-4711", 2) {
		t.Fatalf("%+v, %v", again, err)
	}
	stands, err := e.store.Load(t.Context(), row.ID)
	if err != nil || stands.Commitment == row.Commitment {
		t.Errorf("the new generation has the commitment of the first: %s, %v", stands.Commitment, err)
	}
}

func TestADecisionIsCommittedAlsoIfTemporalDoesNotHearOfIt(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	e.temporal.refuse = errors.New("connection refused")
	if v, err := e.Resolve(t.Context(), row.ID, Resolution{As: ResolveNotApplied}, known); err != nil || v.State != intent.Failed {
		t.Fatalf("%+v, %v", v, err)
	}
	if v, err := e.Reissue(t.Context(), row.ID, known); err != nil || v.State != intent.Recorded {
		t.Fatalf("%+v, %v", v, err)
	}
	if v, err := e.Cancel(t.Context(), row.ID, known); err != nil || v.State != intent.Cancelled {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestAResultThatTheToolWouldNotAnswerIsRefused(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	_, err := e.Resolve(t.Context(), row.ID, Resolution{As: ResolveApplied, Result: json.RawMessage(`{"captured":true}`)}, known)
	if intent.CodeOf(err) != intent.CodeInvalidResolution || !strings.Contains(err.Error(), "id") {
		t.Errorf("%v", err)
	}
	if v, err := e.Get(t.Context(), row.ID); err != nil || v.State != intent.InDoubt {
		t.Errorf("%s, %v", v.State, err)
	}
}

func TestAResultIsWhatTheToolPromisedWhenTheIntentWasAuthorized(t *testing.T) {
	t.Parallel()
	id, captured := json.RawMessage(`{"id":"re_1"}`), json.RawMessage(`{"captured":true}`)
	resolve := func(e engine, row outbox.Row, result json.RawMessage) intent.Code {
		_, err := e.Resolve(t.Context(), row.ID, Resolution{As: ResolveApplied, Result: result}, known)
		return intent.CodeOf(err)
	}

	e, row := doubtful(t, refund)
	changed := refund
	changed.OutputSchema = json.RawMessage(`{"required":["captured"]}`)
	e.park(t, changed, "order-2") // publishes it
	if code := resolve(e, row, captured); code != intent.CodeInvalidResolution {
		t.Errorf("what only the changed tool answers: %q", code)
	}
	if code := resolve(e, row, id); code != "" {
		t.Errorf("what the tool answered then: %q", code)
	}

	row = e.park(t, refund, "order-3")
	if _, err := e.pool.Exec(t.Context(), `DELETE FROM tool_specs WHERE name = $1`, refund.Name); err != nil {
		t.Fatal(err)
	}
	if code := resolve(e, row, captured); code != "" {
		t.Errorf("any answer of a tool that nobody knows any more: %q", code)
	}
}

func TestAResolutionIsCheckedBeforeAnyIO(t *testing.T) {
	t.Parallel()
	var offline Client // it would panic
	large := json.RawMessage(`"` + strings.Repeat("x", intent.MaxInline) + `"`)
	for name, tc := range map[string]struct {
		resolution Resolution
		by         Decider
		code       intent.Code
	}{
		"nothing":                         {Resolution{}, known, intent.CodeInvalidResolution},
		"another word":                    {Resolution{As: "done"}, known, intent.CodeInvalidResolution},
		"nobody":                          {Resolution{As: ResolveApplied}, Decider{Note: "x"}, intent.CodeUnauthenticated},
		"no note":                         {Resolution{As: ResolveApplied}, Decider{Principal: "eve"}, intent.CodeInvalidResolution},
		"a note of two lines":             {Resolution{As: ResolveRetry}, Decider{Principal: "eve", Note: "a\nb"}, intent.CodeInvalidNote},
		"a result of what did not happen": {Resolution{As: ResolveNotApplied, Result: json.RawMessage(`{}`)}, known, intent.CodeInvalidResolution},
		"a result that is no JSON":        {Resolution{As: ResolveApplied, Result: json.RawMessage(`{`)}, known, intent.CodeInvalidResolution},
		"a large result":                  {Resolution{As: ResolveApplied, Result: large}, known, intent.CodeInvalidResolution},
		"a note of blanks":                {Resolution{As: ResolveApplied}, Decider{Principal: "eve", Note: "   "}, intent.CodeInvalidResolution},
		"a result that names one twice":   {Resolution{As: ResolveApplied, Result: json.RawMessage(`{"a":1,"a":2}`)}, known, intent.CodeInvalidResolution},
		"a result of half a character":    {Resolution{As: ResolveApplied, Result: json.RawMessage(`{"a":"\ud800"}`)}, known, intent.CodeInvalidResolution},
	} {
		if _, err := offline.Resolve(t.Context(), intent.ID{1}, tc.resolution, tc.by); intent.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, want %s", name, err, tc.code)
		}
	}
	for _, decide := range []func(context.Context, intent.ID, Decider) (Intent, error){offline.Reissue, offline.Cancel, offline.Inquire, offline.Acknowledge} {
		if _, err := decide(t.Context(), intent.ID{1}, Decider{}); intent.CodeOf(err) != intent.CodeUnauthenticated {
			t.Errorf("%v", err)
		}
	}
}

func TestACancelledIntentIsAnErrorThatSaysThatNothingHappened(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.accept(t, capture)
	id := intent.IntentID(DefaultTenant, intent.RequestKey(capture.RequestKey))
	v, err := e.Cancel(t.Context(), id, Decider{Principal: "eve"})
	if err != nil || v.State != intent.Cancelled {
		t.Fatalf("%+v, %v", v, err)
	}
	if again, err := e.Cancel(t.Context(), id, known); err != nil || len(again.Decisions) != 1 {
		t.Errorf("%+v, %v", again, err)
	}
	done, err := e.Execute(t.Context(), capture)
	var failure *Error
	if !errors.As(err, &failure) || failure.Code != intent.CodeCancelled || failure.Effect != intent.NotApplied || len(done.Receipt) == 0 {
		t.Errorf("%+v, %v", done, err)
	}
}
