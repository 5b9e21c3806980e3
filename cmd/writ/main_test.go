package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"writ/internal/pgtest"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// ran is what one run of the command did.
type ran struct {
	status         int
	stdout, stderr string
}

func command(t *testing.T, args ...string) ran {
	t.Helper()
	return commandWithInput(t, "", args...)
}

func commandWithInput(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), args, strings.NewReader(stdin), &stdout, &stderr)
	return ran{status, stdout.String(), stderr.String()}
}

// document reads the one JSON document that a command must have written.
func (r ran) document(t *testing.T, into any) {
	t.Helper()
	decoder := json.NewDecoder(strings.NewReader(r.stdout))
	if err := decoder.Decode(into); err != nil {
		t.Fatalf("standard output is not JSON (%v): %q; standard error: %s", err, r.stdout, r.stderr)
	}
	if decoder.More() {
		t.Fatalf("standard output holds more than one document: %q", r.stdout)
	}
}

// failure is the document of a command that did not succeed.
type failure struct {
	Error struct {
		Code     string `json:"code"`
		Message  string `json:"message"`
		Effect   string `json:"effect"`
		TryAgain bool   `json:"try_again"`
		Offset   *int64 `json:"offset"`
	} `json:"error"`
	Intent struct {
		ID         string `json:"id"`
		RequestKey string `json:"request_key"`
		State      string `json:"state"`
	} `json:"intent"`
	Receipt json.RawMessage `json:"receipt"`
}

// nowhere is a database that does not answer.
const nowhere = "postgres://127.0.0.1:1/writ?connect_timeout=5"
