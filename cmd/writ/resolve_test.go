package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ"
	"writ/intent"
	"writ/tools"
)

// doubtful writes an intent that is in doubt and returns its id.
func (r records) doubtful(t *testing.T, key intent.RequestKey) intent.ID {
	t.Helper()
	p := proposal(key, "ada")
	r.ended(t, p, parked())
	return p.ID()
}

func TestAResolutionIsShownAndEndsTheIntent(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	store.publish(t, tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true})
	id := store.doubtful(t, "order-1").String()
	r := store.writ(t, "resolve", id, "--applied", "--result", `{"id":"cap_<1>"}`, "--principal", "eve", "--note", "on the statement")
	for _, want := range []string{"resolved as applied", "completed", "resolve_applied  by eve at ", ": on the statement"} {
		if r.status != 0 || !strings.Contains(r.stdout, want) {
			t.Errorf("status %d, %q is not in\n%s%s", r.status, want, r.stdout, r.stderr)
		}
	}
	var done struct{ Answer writ.Answer }
	command(t, "intent", "watch", id, "-o", "json", "--database-url", store.url).document(t, &done)
	if string(done.Answer.JSON) != `{"id":"cap_<1>"}` {
		t.Errorf("the answer is %s", done.Answer.JSON)
	}
	var f failure
	r = store.writ(t, "resolve", id, "--not-applied", "--note", "no", "--principal", "bob", "-o", "json")
	r.document(t, &f)
	if r.status != 7 || f.Error.Code != "not_in_doubt" || !strings.Contains(f.Error.Message, "eve resolved it as applied") {
		t.Errorf("a second resolution: status %d, %+v", r.status, f.Error)
	}
}

func TestAResolutionSaysOneThingAndWhy(t *testing.T) {
	t.Parallel()
	id := intent.IntentID("default", "order-1").String()
	for line, code := range map[string]string{
		"resolve " + id + " --note x":                             "invalid_resolution",
		"resolve " + id + " --applied --retry --note x":           "invalid_resolution",
		"resolve " + id + " --applied":                            "invalid_resolution",
		"resolve " + id + " --not-applied --result {} --note x":   "invalid_resolution",
		"resolve " + id + " --applied --note x --result=":         "invalid_resolution",
		"resolve " + id + " --applied --note x --principal eve!":  "invalid_name",
		"resolve order-1 --applied --note x":                      "invalid_intent_id",
		"resolve --applied --note x":                              "usage",
		"resolve " + id + " --from x":                             "usage",
		"resolve --from x --note y":                               "usage",
		"resolve --from " + filepath.Join(t.TempDir(), "x.jsonl"): "payload_unreadable",
		"doubt acknowledge":                                       "usage",
		"doubt list":                                              "usage",
		"doubt --limit 0":                                         "usage",
		"doubt --lookup --limit 5":                                "usage",
		"doubt --note x":                                          "usage",
		"doubt --tenant=":                                         "usage",
		"doubt --after x":                                         "invalid_cursor",
		"reissue " + id + " --principal eve!":                     "invalid_name",
		"intent cancel":                                           "usage",
	} {
		r := command(t, append(strings.Fields(line), "-o", "json", "--database-url", nowhere)...)
		var f failure
		r.document(t, &f)
		if r.status != 2 || f.Error.Code != code {
			t.Errorf("%s: status %d, %+v; want %s", line, r.status, f.Error, code)
		}
	}
}

func TestARetryThatCouldRepeatTheEffectExits3(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	p.Rules = tools.Spec{Name: p.Tool, SideEffectful: true}.Rules()
	store.ended(t, p, parked())
	r := store.writ(t, "resolve", p.ID().String(), "--retry", "--note", "try", "-o", "json")
	var f failure
	r.document(t, &f)
	if r.status != 3 || f.Error.Code != "retry_refused" || f.Error.Effect != "unknown" {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
}

// resolutions writes a file that says not applied of each intent.
func resolutions(t *testing.T, ids ...intent.ID) (path string) {
	t.Helper()
	var text strings.Builder
	for _, id := range ids {
		fmt.Fprintf(&text, `{"intent_id":"%s","resolution":"not_applied","note":"not on the statement"}`+"\n", id)
	}
	path = filepath.Join(t.TempDir(), "resolutions.jsonl")
	if err := os.WriteFile(path, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAFileOfResolutionsIsAnsweredLineByLine(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	file := resolutions(t, store.doubtful(t, "order-1"), store.doubtful(t, "order-2"))
	for _, outcome := range []writ.LineOutcome{writ.LineResolved, writ.LineUnchanged} {
		var d resolvedDocument
		r := store.writ(t, "resolve", "--from", file, "--principal", "eve", "-o", "json")
		r.document(t, &d)
		if r.status != 0 || d.Counts[outcome] != 2 || len(d.Lines) != 2 || d.Lines[1].State != intent.Failed {
			t.Errorf("status %d, %+v", r.status, d)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r := commandWithInput(t, string(text), "resolve", "--from", "-", "--principal", "bob", "--database-url", store.url, "--temporal-address", "127.0.0.1:1")
	if r.status != 7 || strings.Count(r.stdout, "not_in_doubt") != 2 || !strings.Contains(r.stderr, "2 of 2 resolutions were not recorded, because of line 1: ") {
		t.Errorf("somebody else's: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
}

func TestALineAboutNoIntentLeavesTheWholeFileUndone(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	first := store.doubtful(t, "order-1")
	var d resolvedDocument
	r := store.writ(t, "resolve", "--from", resolutions(t, first, intent.IntentID("default", "nobody")), "-o", "json")
	r.document(t, &d)
	if r.status != 2 || d.Counts["not_tried"] != 1 || d.Counts["failed"] != 1 || d.Lines[1].Error == nil || d.Lines[1].Error.Code != "intent_not_found" {
		t.Errorf("status %d, %+v", r.status, d)
	}
	if !strings.Contains(r.stderr, "2 of 2 resolutions were not recorded, because of line 2: ") {
		t.Errorf("standard error: %s", r.stderr)
	}
	if row, err := store.Load(t.Context(), first); err != nil || row.State != intent.InDoubt {
		t.Errorf("the first line was recorded: %s, %v", row.State, err)
	}
}

func TestWhatCannotBeReadSaysWhatToNameInstead(t *testing.T) {
	t.Parallel()
	id := intent.IntentID("default", "order-1").String()
	large := filepath.Join(t.TempDir(), "large.json")
	if err := os.WriteFile(large, make([]byte, intent.MaxInline+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]struct{ says, never string }{
		"resolve --from none.jsonl": {"name a readable file, or - for standard input", "@"},
		"resolve --from=":           {"--from is empty", "@"},
		"resolve":                   {"--from", "@"},
		"resolve " + id:             {"--applied, --not-applied and --retry", "@"},
		"resolve " + id + " --applied --result @none":     {"after @", "--from"},
		"resolve " + id + " --applied --result @" + large: {"give its essence", "reference"},
		"execute echo --payload @none --principal ada":    {"after @", "--from"},
		"hold lift one two":                               {"takes one ID", "arg(s)"},
	} {
		r := command(t, append(strings.Fields(line), "--database-url", nowhere)...)
		if r.status != 2 || !strings.Contains(r.stderr, want.says) || strings.Contains(r.stderr, want.never) {
			t.Errorf("%s: status %d, %s", line, r.status, r.stderr)
		}
	}
	r := commandWithInput(t, "\ufeff{}", "resolve", "--from", "-", "--database-url", nowhere)
	if r.status != 2 || !strings.Contains(r.stderr, "byte order mark") {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
}

func TestAWrongLineOfAFileStopsAllOfIt(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	id := store.doubtful(t, "order-1")
	text := fmt.Sprintf(`{"intent_id":"%s","resolution":"applied","note":"seen"}`+"\n"+`{"intent_id":"%s","resolution":"maybe","note":"seen"}`, id, intent.IntentID("a", "b"))
	r := commandWithInput(t, text, "resolve", "--from", "-", "-o", "json", "--database-url", store.url, "--temporal-address", "127.0.0.1:1")
	var f failure
	r.document(t, &f)
	if r.status != 2 || f.Error.Code != "invalid_resolution" || !strings.HasPrefix(f.Error.Message, "line 2: ") {
		t.Errorf("status %d, %+v", r.status, f.Error)
	}
	if row, err := store.Load(t.Context(), id); err != nil || row.State != intent.InDoubt {
		t.Errorf("the first line was recorded: %s, %v", row.State, err)
	}
}

func TestAFailedIntentIsIssuedAgainAndCancelled(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	store.ended(t, p, answered(intent.NotApplied))
	id := p.ID().String()
	r := store.writ(t, "reissue", id, "--principal", "eve", "--note", "funded")
	if r.status != 0 || !strings.Contains(r.stdout, "issued again") || !strings.Contains(r.stdout, "recorded") || !strings.Contains(r.stdout, ": funded") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	var begun writ.Intent
	store.writ(t, "reissue", id, "--principal", "eve", "--note", "funded", "-o", "json").document(t, &begun)
	if begun.Generation != 2 {
		t.Errorf("said twice, it was issued again twice: %+v", begun)
	}
	r = store.writ(t, "intent", "cancel", id, "--principal", "eve")
	if r.status != 0 || !strings.Contains(r.stdout, "cancelled") {
		t.Errorf("status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	r = command(t, "intent", "watch", id, "--database-url", store.url)
	if r.status != 8 || !strings.Contains(r.stderr, "nothing happened") {
		t.Errorf("watch: status %d\n%s%s", r.status, r.stdout, r.stderr)
	}
	var f failure
	r = store.writ(t, "reissue", id, "-o", "json")
	r.document(t, &f)
	if r.status != 7 || f.Error.Code != "not_reissuable" {
		t.Errorf("reissue: status %d, %+v", r.status, f.Error)
	}
	p = proposal("order-2", "ada")
	store.ended(t, p, answered(intent.Applied))
	r = store.writ(t, "intent", "cancel", p.ID().String(), "-o", "json")
	r.document(t, &f)
	if r.status != 7 || f.Error.Code != "already_ended" {
		t.Errorf("cancel: status %d, %+v", r.status, f.Error)
	}
}
