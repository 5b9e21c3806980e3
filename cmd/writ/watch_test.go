package main

import (
	"strings"
	"testing"

	"writ/intent"
)

func TestAWatchAnswersAndExitsAsExecuteDoes(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	for key, c := range map[string]struct {
		seed   ending
		status int
		line   string // on standard error
	}{
		"completed": {answered(intent.Applied), 0, "completed  attempt 1 applied  stop (ended)"},
		"failed":    {answered(intent.NotApplied), 4, "failed  attempt 1 not_applied, card_declined  stop (ended)"},
		"refused":   {refused(), 3, "refused  no attempt  stop (ended)"},
		"in-doubt":  {parked(), 5, "in_doubt  attempt 1 unknown, connection_lost  stop (awaits_evidence_or_operator)"},
	} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			p := proposal(intent.RequestKey(key), "ada")
			store.ended(t, p, c.seed)
			for _, form := range []string{"text", "json"} {
				watch := command(t, "intent", "watch", p.ID().String(), "--timeout", "5m", "-o", form, "--database-url", store.url)
				execute := command(t, "execute", p.Tool, "--key", key, "--principal", "ada", "-o", form, "--database-url", store.url)
				if watch.status != c.status || watch.stdout != execute.stdout || watch.status != execute.status {
					t.Errorf("%s: status %d\n%s; execute: status %d\n%s", form, watch.status, watch.stdout, execute.status, execute.stdout)
				}
				line, rest, _ := strings.Cut(watch.stderr, "\n")
				if !strings.HasSuffix(line, "Z  "+c.line) || rest != execute.stderr {
					t.Errorf("%s: standard error:\n%s; execute's:\n%s", form, watch.stderr, execute.stderr)
				}
			}
		})
	}
}

func TestAWatchThatIsStoppedExits1AndSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	p := proposal("order-1", "ada")
	p.Decision = []byte(`{"allow":true}`)
	if _, err := store.Insert(t.Context(), p.Bound()); err != nil {
		t.Fatal(err)
	}
	r := command(t, "intent", "watch", p.ID().String(), "--timeout", "1s", "-o", "json", "--database-url", store.url)
	var f failure
	r.document(t, &f)
	if r.status != 1 || f.Error.Code != "not_yet_known" || f.Error.Effect != "unknown" || !f.Error.TryAgain || f.Intent.State != "recorded" {
		t.Errorf("status %d, %s", r.status, r.stdout)
	}
	for _, want := range []string{"recorded  no attempt  invoke (first_attempt)", "the same command watches it again", "writ intent get " + p.ID().String()} {
		if !strings.Contains(r.stderr, want) {
			t.Errorf("standard error does not say %q:\n%s", want, r.stderr)
		}
	}
	if strings.Contains(r.stderr, "--key") {
		t.Errorf("a watch has no --key:\n%s", r.stderr)
	}
}

func TestAWatchOfWhatIsNotThereIsRefused(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	for _, c := range []struct {
		args   []string
		status int
		code   string
	}{
		{[]string{intent.IntentID("default", "nobody").String(), "--database-url", store.url}, 2, "intent_not_found"},
		{[]string{intent.IntentID("default", "nobody").String(), "--timeout", "0s", "--database-url", nowhere}, 2, "usage"},
		{[]string{intent.IntentID("default", "nobody").String(), "--database-url", nowhere}, 1, "database_unavailable"},
	} {
		r := command(t, append([]string{"intent", "watch", "-o", "json"}, c.args...)...)
		var f failure
		r.document(t, &f)
		if r.status != c.status || f.Error.Code != c.code || f.Intent.ID != "" {
			t.Errorf("%v: status %d, %s", c.args, r.status, r.stdout)
		}
	}
	if r := command(t, "intent", "watch", "order-1", "--database-url", nowhere); r.status != 2 || !strings.Contains(r.stderr, "the intent id") {
		t.Errorf("no id: status %d, %s", r.status, r.stderr)
	}
}
