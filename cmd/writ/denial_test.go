package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"writ/intent"
	"writ/policy"
)

// denials are the codes that a request can be denied with.
func denials() []intent.Code {
	codes := []intent.Code{intent.CodeGateError}
	for _, rule := range policy.Order() {
		codes = append(codes, rule.Code)
	}
	return codes
}

// What the table of codes says is what text and JSON say; nothing else has to be told of a new rule.
func TestEveryDenialSaysInTextAndJSONWhetherTryingAgainOrConfirmingHelps(t *testing.T) {
	t.Parallel()
	for _, code := range denials() {
		e := intent.Errorf(code, "it is denied")
		confirming, denial := policy.Confirming(code)
		if !denial || confirming != (code == intent.CodeConfirmationRequired) || e.Effect != intent.NotApplied || statuses[code] != statusRefused && statuses[code] != statusWaiting && statuses[code] != statusUsage {
			t.Errorf("%s: %v, %v, %s, status %d", code, confirming, denial, e.Effect, statuses[code])
		}
		var stdout, stderr bytes.Buffer
		p := &program{stdout: &stdout, stderr: &stderr, output: outputJSON}
		p.report(e)
		var document struct {
			Error struct {
				TryAgain   *bool `json:"try_again"`
				Confirming *bool
			}
		}
		if err := json.Unmarshal(stdout.Bytes(), &document); err != nil {
			t.Fatal(err)
		}
		if d := document.Error; d.TryAgain == nil || d.Confirming == nil || *d.TryAgain != e.TryAgain || *d.Confirming != confirming {
			t.Errorf("%s: %s", code, stdout.Bytes())
		}
		text := stderr.String()
		if lets := strings.Contains(text, "a confirmation lets it go on"); lets != confirming || !strings.Contains(text, "the same request again") {
			t.Errorf("%s: %s", code, text)
		}
		if todo := strings.Contains(text, "what to do: "); todo == confirming {
			t.Errorf("%s: %s", code, text)
		}
		inVain := !e.TryAgain && !confirming && code != intent.CodeConfirmationExpired
		if cannot := strings.Contains(text, "neither the same request again nor a confirmation can help while its reason stands"); cannot != inVain {
			t.Errorf("%s: %s", code, text)
		}
	}
	for _, err := range []error{intent.Errorf(intent.CodeUsage, "no"), intent.Errorf(intent.CodeFailed, "no"), errors.New("no")} {
		if help := helpOf(described(err)); help != "" || bodyOf(described(err)).Confirming != nil {
			t.Errorf("%v is no denial: %q", err, help)
		}
	}
}

func TestWhatCanHelpAgainstADenialStandsInItsRow(t *testing.T) {
	t.Parallel()
	codes := denials()
	for _, group := range intent.Codes() {
		for _, row := range group.Rows {
			if !slices.Contains(codes, row.Code) {
				continue
			}
			confirming, _ := policy.Confirming(row.Code)
			if says := strings.Contains(row.Mend, "writ confirm"); says != confirming {
				t.Errorf("%s: a confirmation helps: %v; its row says %q", row.Code, confirming, row.Mend)
			}
		}
	}
}
