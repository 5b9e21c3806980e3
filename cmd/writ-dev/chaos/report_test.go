package chaos

import (
	"errors"
	"strings"
	"testing"
	"time"

	"writ/cmd/writ-dev/chaos/check"
)

func TestAReportWithAViolationIsAFailureThatNamesTheFirstAndTheFolder(t *testing.T) {
	t.Parallel()
	report := Report{Seed: 7, Folder: "artifacts", Result: check.Verdict{Violations: []check.Violation{
		{Kind: check.Duplicate, RequestKey: "chaos-7-1", What: "its effect happened 2 times"}, {Kind: check.Lost},
	}}}
	var failure *FailureError
	if err := report.Verdict(); !errors.As(err, &failure) || failure.Code() != "chaos_failed" {
		t.Fatalf("the verdict is %v", err)
	}
	for _, want := range []string{"seed 7", "2 violations", "chaos-7-1", "happened 2 times", "artifacts"} {
		if !strings.Contains(failure.Error(), want) {
			t.Errorf("%q does not say %q", failure, want)
		}
	}
	if err := (Report{}).Verdict(); err != nil {
		t.Errorf("a report without a violation: %v", err)
	}
}

func TestTheReportShowsEveryClassAndFaultAndViolation(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	err := Report{
		Faults: map[string]int{"worker_kill": 3}, Missed: []Missed{{Kind: WorkflowReset, Why: "no workflow runs"}},
		Result: check.Verdict{
			Classes:    []check.Class{{Class: "keyed", Intents: 1234}, {Class: "opaque", Intents: 1}},
			Recoveries: []check.Recovery{{Kind: "worker_kill", Faults: 3}},
			Violations: []check.Violation{{Kind: check.Lost, RequestKey: "chaos-1-2", What: "it has no row"}},
		},
	}.Print(&text)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"keyed", "1234", "all", "1235", "worker_kill", "3 faults", "1 could not be made", "no workflow runs", "lost chaos-1-2: it has no row"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, &text)
		}
	}
}

func TestTheTablesOfTheReportAreMarkdown(t *testing.T) {
	t.Parallel()
	report := Report{Seed: 7, Length: time.Minute, Faults: map[string]int{"worker_kill": 3}, Result: check.Verdict{
		Classes:    []check.Class{{Class: "keyed", Intents: 1234, InDoubt: 2}},
		Recoveries: []check.Recovery{{Kind: "worker_kill", Faults: 3, Samples: 5, P50: time.Second, P99: 2 * time.Second, Max: 12 * time.Second}},
	}}
	for _, c := range []struct {
		table *table
		want  string
	}{
		{report.summary(), `
| Seed | Faults last | Faults | Intents | Effects | Duplicates | Lost | In doubt | Not allowed | Late | Violations |
| ---- | ----------: | -----: | ------: | ------: | ---------: | ---: | -------: | ----------: | ---: | ---------: |
| 7    |        1m0s |      3 |    1234 |       0 |          0 |    0 |        2 |           0 |    0 |          0 |
`},
		{report.recoveries(), `
| Fault       | Times | Open intents |   p50 |   p99 |    Max |
| ----------- | ----: | -----------: | ----: | ----: | -----: |
| worker_kill |     3 |            5 | 1.0 s | 2.0 s | 12.0 s |
`},
	} {
		if got := "\n" + c.table.String(); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
}
