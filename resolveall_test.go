package writ

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"writ/activities"
	"writ/intent"
	"writ/tools"
)

func TestAFileOfResolutionsIsReadWithItsLineNumbers(t *testing.T) {
	t.Parallel()
	id, other := intent.IntentID("acme", "order-1"), intent.IntentID("acme", "order-2")
	text := fmt.Sprintf(`{"intent_id":"%s","resolution":"applied","note":"seen","result": {"id": "<1>"} }

  {"note":"not seen","resolution":"not_applied","intent_id":"%s"}`, id, other)
	lines, err := ParseResolutions([]byte(text + "\n"))
	if err != nil || len(lines) != 2 {
		t.Fatalf("%+v, %v", lines, err)
	}
	if l := lines[0]; l.Line != 1 || l.IntentID != id || l.As != ResolveApplied || string(l.Result) != `{"id": "<1>"}` || l.Note != "seen" {
		t.Errorf("%+v", l)
	}
	if l := lines[1]; l.Line != 3 || l.IntentID != other || l.As != ResolveNotApplied || l.Result != nil || l.Note != "not seen" {
		t.Errorf("%+v", l)
	}
}

func TestAFileWithOneWrongLineIsRefusedWhole(t *testing.T) {
	t.Parallel()
	id := intent.IntentID("acme", "order-1").String()
	good := `{"intent_id":"` + id + `","resolution":"applied","note":"seen"}` + "\n"
	other := strings.Replace(good, id, intent.IntentID("acme", "order-2").String(), 1)
	for name, tc := range map[string]struct {
		line string
		code intent.Code
	}{
		"no JSON":                         {`applied`, intent.CodeInvalidJSON},
		"no object":                       {`[]`, intent.CodeInvalidRequest},
		"two objects":                     {strings.TrimSpace(other) + `{}`, intent.CodeTrailingData},
		"another member":                  {`{"id":"x"}`, intent.CodeUnknownMember},
		"another case":                    {`{"Note":"x"}`, intent.CodeUnknownMember},
		"a member twice":                  {`{"note":"x","note":"y"}`, intent.CodeDuplicateMember},
		"no id":                           {`{"resolution":"applied","note":"x"}`, intent.CodeInvalidIntentID},
		"an id in capitals":               {strings.Replace(good, id, strings.ToUpper(id), 1), intent.CodeInvalidIntentID},
		"another word":                    {strings.Replace(other, "applied", "done", 1), intent.CodeInvalidResolution},
		"no note":                         {strings.Replace(other, `,"note":"seen"`, "", 1), intent.CodeInvalidResolution},
		"a result of what did not happen": {strings.NewReplacer("applied", "not_applied", "}", `,"result":{}}`).Replace(other), intent.CodeInvalidResolution},
		"a broken result":                 {strings.Replace(other, "}", `,"result":nothing}`, 1), intent.CodeInvalidJSON},
		"an intent twice":                 {good, intent.CodeInvalidResolution},
	} {
		_, err := ParseResolutions([]byte(good + "\n" + tc.line))
		var e *Error
		if !errors.As(err, &e) || e.Code != tc.code || !strings.HasPrefix(e.Message, "line 3: ") {
			t.Errorf("%s: %v, want %s on line 3", name, err, tc.code)
		}
		if e != nil && e.Offset >= 0 && e.Offset < int64(len(good)) {
			t.Errorf("%s: byte %d is not on line 3", name, e.Offset)
		}
	}
	if _, err := ParseResolutions([]byte("\n \n")); intent.CodeOf(err) != intent.CodeInvalidResolution {
		t.Errorf("no line at all: %v", err)
	}
}

// outcomes says in one line what became of each line.
func outcomes(results []LineResult) string {
	list := make([]string, len(results))
	for i, r := range results {
		list[i] = strings.TrimSpace(fmt.Sprintf("%s %s %s", r.Outcome, r.State, intent.CodeOf(r.Err)))
	}
	return strings.Join(list, "; ")
}

func TestEachLineOfAFileIsDecidedForItselfAndTheSameFileAgainIsHarmless(t *testing.T) {
	t.Parallel()
	e, first := doubtful(t, refund)
	second := e.park(t, refund, "order-2")
	lines := []ResolutionLine{
		{Line: 1, IntentID: first.ID, Resolution: Resolution{As: ResolveApplied}, Note: "seen"},
		{Line: 2, IntentID: second.ID, Resolution: Resolution{As: ResolveRetry}, Note: "try"},
		{Line: 3, IntentID: second.ID, Resolution: Resolution{As: ResolveNotApplied}, Note: "not seen"},
	}
	if got, want := outcomes(e.ResolveAll(t.Context(), lines, Decider{Principal: "eve"})), "resolved completed; failed  retry_refused; resolved failed"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	again := []ResolutionLine{lines[0], lines[2]}
	if got, want := outcomes(e.ResolveAll(t.Context(), again, Decider{Principal: "eve"})), "unchanged completed; unchanged failed"; got != want {
		t.Errorf("again: %q, want %q", got, want)
	}
	keyed := refund
	keyed.Name, keyed.Idempotent, keyed.Key.Remembers, keyed.Retry.MaxAttempts = "payments.capture", true, tools.WindowForever, 1
	retry := []ResolutionLine{{Line: 1, IntentID: e.park(t, keyed, "order-3").ID, Resolution: Resolution{As: ResolveRetry}, Note: "try"}}
	for _, want := range []LineOutcome{LineResolved, LineUnchanged} {
		if got := e.ResolveAll(t.Context(), retry, Decider{Principal: "eve"}); got[0].Outcome != want || got[0].Err != nil {
			t.Errorf("a retry: %+v, want %s", got[0], want)
		}
	}
	// Somebody else is told who decided, and what is known of the effect.
	results := e.ResolveAll(t.Context(), lines[:1], Decider{Principal: "bob"})
	says(t, results[0].Err, intent.CodeNotInDoubt, intent.Applied, []string{"resolve_applied by eve at "}, nil)
}

func TestNoLineIsRecordedIfOneCannotBe(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	other := e.park(t, refund, "order-2")
	good := ResolutionLine{Line: 1, IntentID: row.ID, Resolution: Resolution{As: ResolveApplied}, Note: "seen"}
	for name, c := range map[string]struct {
		line ResolutionLine
		want string
	}{
		"nobody's id":    {ResolutionLine{IntentID: intent.IntentID("acme", "nobody"), Resolution: Resolution{As: ResolveApplied}, Note: "seen"}, "failed  intent_not_found"},
		"another answer": {ResolutionLine{IntentID: other.ID, Resolution: Resolution{As: ResolveApplied, Result: []byte(`{}`)}, Note: "seen"}, "failed  invalid_resolution"},
		"a line in Go":   {ResolutionLine{IntentID: other.ID, Resolution: Resolution{As: "done"}, Note: "seen"}, "failed  invalid_resolution"},
		"not in doubt":   {ResolutionLine{IntentID: e.lose(t, refund, "order-3").ID, Resolution: Resolution{As: ResolveApplied}, Note: "seen"}, "failed  not_in_doubt"},
	} {
		if got, want := outcomes(e.ResolveAll(t.Context(), []ResolutionLine{good, c.line}, Decider{Principal: "eve"})), "not_tried; "+c.want; got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	if v, err := e.Get(t.Context(), row.ID); err != nil || v.State != intent.InDoubt || len(v.Decisions) != 0 {
		t.Errorf("%+v, %v", v, err)
	}
}

func TestAWordOnAnEarlierGenerationIsNoneOnThisOne(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	line := []ResolutionLine{{Line: 1, IntentID: row.ID, Resolution: Resolution{As: ResolveNotApplied}, Note: "case 4711"}}
	if got := outcomes(e.ResolveAll(t.Context(), line, Decider{Principal: "eve"})); got != "resolved failed" {
		t.Fatal(got)
	}
	if _, err := e.Reissue(t.Context(), row.ID, known); err != nil {
		t.Fatal(err)
	}
	row, err := e.store.Load(t.Context(), row.ID)
	if err != nil {
		t.Fatal(err)
	}
	row, err = e.store.Journal(t.Context(), e.loseNext(t, row).ID, nil, activities.Seal)
	if err != nil || row.State != intent.InDoubt || row.Generation != 2 {
		t.Fatalf("%s, generation %d, %v", row.State, row.Generation, err)
	}
	if got := outcomes(e.ResolveAll(t.Context(), line, Decider{Principal: "eve"})); got != "resolved failed" {
		t.Error(got)
	}
	if got := outcomes(e.ResolveAll(t.Context(), line, Decider{Principal: "eve"})); got != "unchanged failed" {
		t.Error(got)
	}
}

func TestAnotherResultIsNotTakenForTheOneThatWasRecorded(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	line := ResolutionLine{Line: 1, IntentID: row.ID, Resolution: Resolution{As: ResolveApplied, Result: []byte(`{"id":"re_1"}`)}, Note: "seen"}
	for _, c := range []struct{ result, want string }{
		{`{"id":"re_1"}`, "resolved completed"}, {`{"id":"re_1"}`, "unchanged completed"}, {`{"id":"re_2"}`, "failed  not_in_doubt"},
	} {
		line.Result = []byte(c.result)
		if got := outcomes(e.ResolveAll(t.Context(), []ResolutionLine{line}, Decider{Principal: "eve"})); got != c.want {
			t.Errorf("%s: %q, want %q", c.result, got, c.want)
		}
	}
}

func TestWhatIsLeftIsNotTriedOnceTheCallerIsGone(t *testing.T) {
	t.Parallel()
	e, row := doubtful(t, refund)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	line := ResolutionLine{Line: 1, IntentID: row.ID, Resolution: Resolution{As: ResolveApplied}, Note: "seen"}
	results := e.ResolveAll(gone, []ResolutionLine{line, line}, Decider{Principal: "eve"})
	if results[0].Outcome != LineFailed || results[1].Outcome != LineNotTried {
		t.Errorf("%+v", results)
	}
	if v, err := e.Get(t.Context(), row.ID); err != nil || v.State != intent.InDoubt {
		t.Errorf("%s, %v", v.State, err)
	}
}
