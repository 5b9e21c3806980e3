package integration

import (
	"encoding/json"
	"strings"
	"testing"

	"writ/intent"
)

var newsletter = action{"newsletters.send", `{"recipient":"ada@example.com","body":"Our spring offers."}`}

// say runs a command that records something for gates.
func (w *world) say(t testing.TB, arguments ...string) {
	t.Helper()
	w.writ(t, append(arguments, "--tenant", w.name, "--principal", "eve")...).succeeds(t)
}

func TestAToolRunsForThoseWhoConsentAndWhereItsDataMayGo(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	refused := func(key string, code intent.Code, says string) {
		t.Helper()
		o := w.ask(t, newsletter, key, "--principal", "agent-7", "--on-behalf-of", "ada").outcome(t)
		if d := o.denied(t, code); !strings.Contains(d.Reason, says) || !strings.Contains(o.Error.Message, "was refused and nothing was sent: "+says) {
			t.Errorf("%s: %+v, %+v", key, d, o.Error)
		}
	}
	refused("unsaid", intent.CodeConsentRequired, "ada has not consented to marketing")
	// The profile is the worker's: a caller that has it in its environment gains nothing.
	start(t, "writ execute", program("writ"), append(w.environment(), "WRIT_DEVELOPMENT=true"),
		"execute", newsletter.tool, "--payload", newsletter.payload, "--tenant", w.name, "-o", "json").outcome(t).denied(t, intent.CodeConsentRequired)
	w.say(t, "consent", "grant", "marketing", "--person", "ada")
	refused("no-rule", intent.CodeEgressDenied, "no rule lets contact go to sandbox")
	w.say(t, "egress", "allow", "contact", "--provider", "sandbox")
	w.ask(t, newsletter, "allowed", "--principal", "agent-7", "--on-behalf-of", "ada").outcome(t).completed(t)
	w.provider.effects(t, 1)

	// What waits for a hold when the consent is revoked is never sent.
	w.writ(t, "hold", "set", "--tenant", w.name).succeeds(t)
	id := w.ask(t, newsletter, "held", "--principal", "agent-7", "--on-behalf-of", "ada", "--detach").accepted(t).ID.String()
	w.say(t, "consent", "revoke", "marketing", "--person", "ada")
	w.writ(t, "hold", "lift", "--tenant", w.name).succeeds(t)
	if d := w.watched(t, id).denied(t, intent.CodeConsentRequired); !strings.Contains(d.Reason, "revoked") {
		t.Errorf("%+v", d)
	}
	w.provider.effects(t, 1)
}

func TestAWorkerInTheDevelopmentProfileSaysOfEachRunWhatItLetPass(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	worker := w.startWorker(t, "WRIT_DEVELOPMENT=true")
	d := recordedDecision(t, w.ask(t, newsletter, "unsaid").outcome(t).completed(t).Decision)
	for _, want := range []string{"the development profile let pass", "consent to marketing", "egress of contact to sandbox"} {
		if !strings.Contains(d.Reason, want) {
			t.Errorf("%q does not say %q", d.Reason, want)
		}
	}
	said := string(worker.stderr.bytes())
	if !strings.Contains(said, "this worker is in the development profile") || strings.Count(said, "the development profile lets a request pass") < 2 {
		t.Errorf("the worker's log:\n%s", said)
	}
	w.say(t, "egress", "deny", "contact", "--provider", "sandbox")
	w.ask(t, newsletter, "denied").outcome(t).denied(t, intent.CodeEgressDenied)
	w.provider.effects(t, 1)
}

func TestTheDevelopmentStackRunsItsWorkerInTheDevelopmentProfile(t *testing.T) {
	t.Parallel()
	p, err := launch("writ-dev", program("writ-dev"), nil, "--ephemeral", "--no-ui", "-o", "json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if _, err := p.terminate(); err != nil {
			t.Error(err)
		}
	}()
	line, err := p.readyLine()
	if err != nil {
		t.Fatalf("%v\n%s", err, p.transcript())
	}
	var at stack
	if err := json.Unmarshal(line, &at); err != nil {
		t.Fatal(err)
	}
	environment := []string{"DATABASE_URL=" + at.DatabaseURL, "TEMPORAL_ADDRESS=" + at.TemporalAddress, "TEMPORAL_NAMESPACE=" + at.TemporalNamespace}
	o := start(t, "writ execute", program("writ"), environment, "execute", newsletter.tool, "--payload", newsletter.payload, "-o", "json").outcome(t)
	if d := recordedDecision(t, o.completed(t).Decision); !strings.Contains(d.Reason, "the development profile let pass") {
		t.Errorf("%+v", d)
	}
}
