package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"writ"
	"writ/intent"
)

func TestTextOfUnknownOriginCannotSteerTheTerminal(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"Café № 7 \u00a0":     `Café № 7 \u00a0`,
		"a\x1b[2Jb":           `a\u001b[2Jb`,
		"a\r\nb\tc":           `a\u000d\u000ab\u0009c`,
		"a\u202eb\u0085":      `a\u202eb\u0085`,
		"bad \xff and \ufffd": `bad \xff and ` + "\ufffd",
	} {
		if got := printable(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func TestJSONOutputKeepsTheBytesOfReceiptsAndAnswers(t *testing.T) {
	t.Parallel()
	const raw = `{"amount":9007199254740993,"html":"<a href=\"x\">&\u2028</a>","n":1.10}`
	var out bytes.Buffer
	if err := writeJSON(&out, json.RawMessage(raw)); err != nil || out.String() != raw+"\n" {
		t.Errorf("alone: %q, %v", out.String(), err)
	}
	out.Reset()
	done := writ.Execution{Receipt: json.RawMessage(raw), Answer: &writ.Answer{MediaType: "application/json", JSON: json.RawMessage(raw)}}
	if err := writeJSON(&out, done); err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(out.Bytes(), []byte(raw)); n != 2 {
		t.Errorf("inside: found %d times in %s", n, out.String())
	}
}

// full is a standard output whose disk is full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

func TestAnAnswerThatCannotBeWrittenIsAFailure(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	status := run(t.Context(), []string{"version"}, nil, full{}, &stderr)
	if status != 1 || !bytes.Contains(stderr.Bytes(), []byte("output_failed")) {
		t.Errorf("status %d, %s", status, stderr.String())
	}
}

func TestAnAnswerIsShownAsFarAsItCanBeRead(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		answer *writ.Answer
		want   string
	}{
		{nil, ""},
		{&writ.Answer{MediaType: "application/json", JSON: json.RawMessage(`{"a":1}`)}, `{"a":1}`},
		{&writ.Answer{MediaType: "text/plain", Body: []byte("done")}, "done"},
		{&writ.Answer{MediaType: "text/plain"}, "empty, text/plain"},
		{&writ.Answer{Problem: "it is empty"}, "empty"},
		{&writ.Answer{MediaType: "image/png", Body: []byte{0x89, 'P', 0xff}}, "3 bytes of image/png; -o json has them in base64"},
		{&writ.Answer{MediaType: "text/plain", Body: bytes.Repeat([]byte("x"), longestTextAnswer+1)}, "4097 bytes of text/plain; -o json has them in base64"},
	} {
		if got := answerText(c.answer); got != c.want {
			t.Errorf("%+v: %q, want %q", c.answer, got, c.want)
		}
	}
}

func TestAnAnswerThatIsNotWhatWasPromisedIsShownWithItsProblem(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	answer := &writ.Answer{MediaType: "application/json", JSON: json.RawMessage(`{"a":1}`), Problem: "/a: must be a string"}
	writeExecution(&text, writ.Execution{Intent: writ.Intent{State: intent.Completed}, Answer: answer})
	for _, want := range []string{`{"a":1}`, "problem", "/a: must be a string", "happened"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("does not say %q:\n%s", want, text.String())
		}
	}
}

func TestAnOpenEndSaysHowToGoOn(t *testing.T) {
	t.Parallel()
	known := writ.Execution{Intent: writ.Intent{ID: intent.IntentID("default", "order-1"), RequestKey: "order-1"}}
	again := executeFlags{}.joins(writ.Request{RequestKey: "order-1"})
	for name, c := range map[string]struct {
		of   executionError
		code intent.Code
		want []string
		not  string
	}{
		"own key":   {executionError{execution: known, again: again}, intent.CodeNotYetKnown, []string{"writ intent get " + known.Intent.ID.String(), "the same command with --key order-1 is safe"}, "do not repeat"},
		"in doubt":  {executionError{execution: known, again: again}, intent.CodeInDoubt, []string{"writ intent get"}, "is safe"},
		"failed":    {executionError{execution: known, again: again}, intent.CodeFailed, nil, "writ intent get"},
		"no intent": {executionError{}, intent.CodeDatabaseUnavailable, nil, "writ intent get"},
	} {
		var stderr bytes.Buffer
		p := &program{stdout: io.Discard, stderr: &stderr, output: outputText}
		c.of.cause = intent.Errorf(c.code, "what happened")
		p.report(&c.of)
		for _, want := range c.want {
			if !bytes.Contains(stderr.Bytes(), []byte(want)) {
				t.Errorf("%s: does not say %q: %s", name, want, stderr.String())
			}
		}
		if bytes.Contains(stderr.Bytes(), []byte(c.not)) {
			t.Errorf("%s: says %q: %s", name, c.not, stderr.String())
		}
	}
}

func TestAKeyIsQuotedForTheShell(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"order-1":   `'order-1'`,
		"it's $one": `'it'\''s $one'`,
	} {
		if got := shellWord(in); got != want {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
	}
}

func TestACharacterThatDoesNotPrintIsAnEscapeOfTheSameValue(t *testing.T) {
	t.Parallel()
	const raw = "{\"a\":\"\u202eü\U000e0041\u2028😀\"}"
	shown := unpainted(json.RawMessage(raw))
	var want, got any
	if json.Unmarshal([]byte(raw), &want) != nil || json.Unmarshal(shown, &got) != nil || got.(map[string]any)["a"] != want.(map[string]any)["a"] {
		t.Errorf("%s", shown)
	}
	if string(shown) != `{"a":"\u202eü\udb40\udc41\u2028😀"}` {
		t.Errorf("%s", shown)
	}
}
