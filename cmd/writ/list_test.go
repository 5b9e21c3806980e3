package main

import (
	"fmt"
	"strings"
	"testing"

	"writ"
	"writ/intent"
)

func TestIntentsAreListedInPagesWhoseCommandIsShown(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	for i, e := range []ending{answered(intent.Applied), parked(), refused(), answered(intent.NotApplied), answered(intent.Applied)} {
		store.ended(t, proposal(intent.RequestKey(fmt.Sprintf("order-%d", i)), "ada"), e)
	}
	store.ended(t, proposal("order-5", "bob"), answered(intent.Applied))
	at := []string{"--database-url", store.url}

	r := command(t, append(strings.Fields("intent list --principal ada --limit 2 --since 1h --state completed --state failed"), at...)...)
	lines := strings.Split(strings.TrimSuffix(r.stdout, "\n"), "\n")
	if r.status != 0 || len(lines) != 3 || !strings.HasPrefix(lines[0], "CREATED") || !strings.Contains(lines[1], "order-4") || !strings.Contains(lines[2], "order-3") {
		t.Fatalf("status %d, %s\n%s", r.status, r.stderr, r.stdout)
	}
	for _, line := range lines {
		if strings.Index(line, "order-") > 0 && strings.Index(line, "order-") != strings.Index(lines[0], "REQUEST KEY") {
			t.Errorf("the columns are not aligned:\n%s", r.stdout)
		}
	}
	_, next, ok := strings.Cut(strings.TrimSpace(r.stderr), "the next page: writ ")
	if !ok || strings.Contains(next, "database") {
		t.Fatalf("standard error: %s", r.stderr)
	}
	r = command(t, append(strings.Fields(next), at...)...)
	if r.status != 0 || r.stderr != "" || strings.Count(r.stdout, "\n") != 2 || !strings.Contains(r.stdout, "order-0") {
		t.Errorf("writ %s: status %d, %s\n%s", next, r.status, r.stderr, r.stdout)
	}

	r = command(t, append([]string{"intent", "list", "--state", "in_doubt"}, at...)...)
	if !strings.Contains(r.stdout, "order-1") || !strings.Contains(r.stdout, "awaits_evidence_or_operator") {
		t.Errorf("what waits does not say for what:\n%s", r.stdout)
	}
	if r = command(t, append([]string{"intent", "list", "--tenant", "nobody"}, at...)...); r.status != 0 || r.stdout != "no such intent\n" {
		t.Errorf("an empty list: status %d, %q", r.status, r.stdout)
	}
}

func TestAListIsOneDocumentWithTheCursorOfItsNextPage(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	for i := range 3 {
		store.ended(t, proposal(intent.RequestKey(fmt.Sprintf("order-%d", i)), "ada"), answered(intent.Applied))
	}
	list := func(args ...string) (r ran, page writ.IntentPage) {
		r = command(t, append([]string{"intent", "list", "-o", "json", "--database-url", store.url}, args...)...)
		if r.status != 0 || r.stderr != "" {
			t.Fatalf("%v: status %d, %s", args, r.status, r.stderr)
		}
		r.document(t, &page)
		return r, page
	}
	_, first := list("--limit", "2")
	if len(first.Intents) != 2 || first.Next == "" || first.Intents[0].RequestKey != "order-2" || first.Intents[0].Attempts != 1 {
		t.Errorf("%+v", first)
	}
	r, second := list("--limit", "2", "--after", first.Next)
	if len(second.Intents) != 1 || second.Intents[0].RequestKey != "order-0" || strings.Contains(r.stdout, `"next":""`) {
		t.Errorf("%s", r.stdout)
	}
	if r, _ := list("--key", "order-9"); r.stdout != "{\"intents\":[]}\n" {
		t.Errorf("an empty list: %s", r.stdout)
	}

	r = command(t, "intent", "list", "--state", "failed", "--after", first.Next, "-o", "json", "--database-url", store.url)
	var f failure
	r.document(t, &f)
	if r.status != 2 || f.Error.Code != "invalid_cursor" || f.Error.Effect != "not_applied" {
		t.Errorf("a cursor of another list: status %d, %+v", r.status, f.Error)
	}
}

func TestAFilterThatCannotBeUsedIsRefusedBeforeAnythingIsConnected(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ flag, value, code string }{
		{"--tenant", "", "usage"},
		{"--after", "", "usage"},
		{"--key", "", "usage"},
		{"--limit", "0", "usage"},
		{"--limit", "501", "invalid_filter"},
		{"--tool", "payments capture", "invalid_name"},
		{"--state", "done", "invalid_filter"},
		{"--state", "", "invalid_filter"},
		{"--class", "write", "invalid_filter"},
		{"--key", "writ:mine", "reserved_request_key"},
		{"--after", "next", "invalid_cursor"},
	} {
		r := command(t, "intent", "list", c.flag, c.value, "-o", "json", "--database-url", nowhere)
		var f failure
		r.document(t, &f)
		if r.status != 2 || f.Error.Code != c.code {
			t.Errorf("%s %q: status %d, %+v", c.flag, c.value, r.status, f.Error)
		}
	}
	for _, moment := range []string{"", "yesterday", "-1h", "7d"} {
		r := command(t, "intent", "list", "--since", moment, "--database-url", nowhere)
		if r.status != 2 || !strings.Contains(r.stderr, "how long ago as 36h") {
			t.Errorf("--since %q: status %d, %s", moment, r.status, r.stderr)
		}
	}
}

func TestWhatCallersNamedCannotSteerTheTerminalThroughAList(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	writeIntents(&b, []writ.IntentSummary{{RequestKey: "a\x1b[2Jb\tc", State: intent.Invoking, SuspectedDuplicateOf: intent.IntentID("default", "first")}})
	if strings.Contains(b.String(), "\x1b") || !strings.Contains(b.String(), `a\u001b[2Jb\u0009c`) || !strings.Contains(b.String(), intent.IntentID("default", "first").String()) {
		t.Errorf("%s", b.String())
	}
}
