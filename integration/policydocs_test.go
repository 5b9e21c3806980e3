package integration

import (
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"writ/receipts"
)

// step is a command of the documentation and what it answers there.
type step struct{ command, answer string }

// stepsOf returns the commands of the console blocks of a section of docs/policy.md. A command
// begins with "$ ", and goes on in the next line after a backslash.
func stepsOf(t *testing.T, title string) (list []step) {
	t.Helper()
	_, section, found := strings.Cut(repositoryFile(t, "docs/policy.md"), "\n## "+title+"\n")
	if !found {
		t.Fatalf("docs/policy.md has no section %q", title)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	for _, block := range regexp.MustCompile("(?ms)^```console\n(.*?)^```$").FindAllStringSubmatch(section, -1) {
		text := strings.ReplaceAll(block[1], "\\\n    ", "")
		for _, part := range strings.Split("\n"+text, "\n$ ")[1:] {
			command, answer, _ := strings.Cut(part, "\n")
			list = append(list, step{command, strings.TrimSpace(answer)})
		}
	}
	return list
}

// differs are the parts of an answer that are others each time: times, digests, effect ids.
var differs = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:.]+Z|\beff_[0-9a-f]{24}\b|\b(?:[0-9a-f]{64}|[0-9a-f]{16})\b`)

// shape is a pattern of the answers that look as the documentation says; "…" there is anything.
func (s step) shape() *regexp.Regexp {
	literal := regexp.QuoteMeta(differs.ReplaceAllString(s.answer, "\x00"))
	pattern := strings.NewReplacer("\x00", "(?:"+differs.String()+")", "…", "(?s:.*)").Replace(literal)
	return regexp.MustCompile("^" + pattern + "$")
}

func TestTheWorkedExampleOfThePolicyPageRunsAsItIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	steps := stepsOf(t, "A refund that finance confirms")
	if len(steps) < 8 || !strings.HasPrefix(steps[0].command, "writ worker ") {
		t.Fatalf("the example has %d commands and begins with %+v", len(steps), steps[0])
	}
	_, folder, _ := strings.Cut(steps[0].command, "--policies ")
	w.startWorkerWith(t, []string{"--recover-every", "500ms", "--policies", "../" + folder})
	found := append(w.environment(), "PATH="+filepath.Dir(program("writ"))+":/usr/bin:/bin")
	for _, s := range steps[1:] {
		p := start(t, s.command, "/bin/sh", found, "-c", s.command)
		p.status(t)
		if got := strings.TrimSpace(string(p.stdout.bytes()) + string(p.stderr.bytes())); !s.shape().MatchString(got) {
			t.Errorf("$ %s\nanswers\n%s\nand docs/policy.md says\n%s", s.command, got, s.answer)
		}
	}
	w.provider.effects(t, 2)
	raw := w.writ(t, "receipt", "get", "1126823a-760a-8bb1-a781-f86b640dddaa")
	raw.status(t)
	r, err := receipts.Parse(raw.stdout.bytes())
	if err != nil || len(r.Decisions) != 1 || r.Decisions[0].Principal != "grace" {
		t.Errorf("the receipt has the decisions %+v, %v", r.Decisions, err)
	}
}
