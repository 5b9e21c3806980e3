package intent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/intake"
)

// peer is somebody else's implementation of RFC 8785, by one of the RFC's authors. It reads
// numbers as doubles.
const peer = "canonicalize@2.1.0"

// peerProgram canonicalizes the texts of a JSON array on standard input.
const peerProgram = `
const canonicalize = require('canonicalize');
const texts = JSON.parse(require('fs').readFileSync(0, 'utf8'));
process.stdout.write(JSON.stringify(texts.map(text => canonicalize(JSON.parse(text)))));
`

// Where every number is the shortest decimal of a double, what we write is what RFC 8785
// says, so that another implementation gives the same bytes.
//
// It needs Node and npm, and npm its registry: without them it is skipped, unless
// WRIT_REQUIRE_NPM is set, as where a skipped test would not be noticed.
func TestAnotherCanonicalizerGivesTheSameBytes(t *testing.T) {
	t.Parallel()
	var names, texts, want []string
	for _, c := range intake.Cases(t) {
		if c.Canonical == nil || !onlyDoubles(t, c.Canonical) {
			continue
		}
		text := c.Canonical // of a request, or of an object inside a string
		if c.Door == intake.DoorPayload && bytes.HasPrefix(bytes.TrimSpace(c.Input), []byte("{")) {
			text = c.Input
		}
		names, texts, want = append(names, c.Name), append(texts, string(text)), append(want, string(c.Canonical))
	}
	if len(texts) < 100 {
		t.Errorf("only %d cases can be compared", len(texts))
	}
	got := canonicalizeByPeer(t, texts)
	if len(got) != len(want) {
		t.Fatalf("%d answers for %d cases", len(got), len(want))
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%s: %.200q, and %s says %.200q", names[i], want[i], peer, got[i])
		}
	}
}

// onlyDoubles reports whether every number in canonical text equals the shortest decimal of
// the double that is nearest to it.
func onlyDoubles(t *testing.T, canonical []byte) bool {
	dec := json.NewDecoder(bytes.NewReader(canonical))
	dec.UseNumber()
	for dec.InputOffset() < int64(len(canonical)) {
		token, err := dec.Token()
		if err != nil {
			t.Fatal(err)
		}
		literal, ok := token.(json.Number)
		if !ok {
			continue
		}
		double, err := literal.Float64()
		if err != nil || math.IsInf(double, 0) {
			return false
		}
		if rational(strconv.FormatFloat(double, 'e', -1, 64)).Cmp(rational(literal.String())) != 0 {
			return false
		}
	}
	return true
}

func canonicalizeByPeer(t *testing.T, texts []string) (answers []string) {
	t.Helper()
	unavailable := t.Skipf
	if os.Getenv("WRIT_REQUIRE_NPM") != "" {
		unavailable = t.Fatalf
	}
	for _, program := range []string{"node", "npm"} {
		if _, err := exec.LookPath(program); err != nil {
			unavailable("without %s there is nobody to compare with: %v", program, err)
		}
	}
	folder := t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock", peer)
	install.Dir = folder
	install.WaitDelay = time.Second
	if out, err := install.CombinedOutput(); err != nil {
		unavailable("npm could not install %s: %v\n%s", peer, err, out)
	}
	program := filepath.Join(folder, "canonicalize.js")
	if err := os.WriteFile(program, []byte(peerProgram), 0o600); err != nil {
		t.Fatal(err)
	}
	question, err := json.Marshal(texts)
	if err != nil {
		t.Fatal(err)
	}
	node := exec.CommandContext(ctx, "node", program)
	node.Dir, node.Stdin, node.Stderr, node.WaitDelay = folder, bytes.NewReader(question), os.Stderr, time.Second
	answer, err := node.Output()
	if err == nil {
		err = json.Unmarshal(answer, &answers)
	}
	if err != nil {
		t.Fatalf("%s: %v", peer, err)
	}
	return answers
}

// What is compared is worth comparing: a number that is no double is left out.
func TestOnlyDoublesAreComparedWithOthers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`{"n":1}`: true, `{"n":0.1}`: true, `{"n":1e+400}`: false, `{"n":9007199254740993}`: false, `{"n":9007199254740992}`: true,
		`{"n":2512292042121000001}`: false, `{"n":[1.1,"1e+400",5e-324]}`: true, `{"n":1e-400}`: false,
	} {
		canonical, err := intent.Canonicalize([]byte(text))
		if err != nil || onlyDoubles(t, canonical) != want {
			t.Errorf("%s: %v, %v", text, !want, err)
		}
	}
}
