package chaos

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"writ/cmd/writ-dev/chaos/check"
)

// Report is what a run found.
type Report struct {
	Seed   uint64        `json:"seed"`
	Length time.Duration `json:"length_ns"`
	// Faults counts those that happened, by kind.
	Faults map[string]int `json:"faults"`
	// Missed are those that could not be made.
	Missed []Missed      `json:"missed"`
	Result check.Verdict `json:"result"`
	// Folder has the logs and the books; empty if it is gone.
	Folder string `json:"folder,omitempty"`
}

// Missed is a fault that could not be made, because what it is about was away or not there.
type Missed struct {
	Kind Kind          `json:"kind"`
	At   time.Duration `json:"at_ns"`
	Why  string        `json:"why"`
}

// FailureError says that a run found what must not be.
type FailureError struct{ Report Report }

func (e *FailureError) Error() string {
	first := e.Report.Result.Violations[0]
	return fmt.Sprintf("seed %d found %d violations, the first is %s of %s: %s; the logs and books of the run are in %s",
		e.Report.Seed, len(e.Report.Result.Violations), first.Kind, first.RequestKey, first.What, e.Report.Folder)
}

// Code returns "chaos_failed".
func (e *FailureError) Code() string { return "chaos_failed" }

// Verdict is nil if nothing was found that must not be, else a [*FailureError].
func (r Report) Verdict() error {
	if len(r.Result.Violations) == 0 {
		return nil
	}
	return &FailureError{Report: r}
}

// count counts the faults of each kind.
func count(faults []check.Fault) map[string]int {
	counted := map[string]int{}
	for _, f := range faults {
		counted[f.Kind]++
	}
	return counted
}

// Print writes the report as tables.
func (r Report) Print(output io.Writer) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(table, "\nclass\tintents\tcompleted\tfailed\tin doubt\tnot allowed\teffects\tduplicates\tlost\tlate\t\n")
	for _, c := range append(slices.Clone(r.Result.Classes), r.Result.Total()) {
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n",
			c.Class, c.Intents, c.Completed, c.Failed, c.InDoubt, c.Unjustified, c.Effects, c.Duplicates, c.Lost, c.Late)
	}
	fmt.Fprint(table, "\nfault\ttimes\topen intents\tp50\tp99\tmax\t\n")
	for _, m := range r.Result.Recoveries {
		if m.Samples == 0 {
			fmt.Fprintf(table, "%s\t%d\t0\t-\t-\t-\t\n", m.Kind, m.Faults)
			continue
		}
		fmt.Fprintf(table, "%s\t%d\t%d\t%.1f s\t%.1f s\t%.1f s\t\n",
			m.Kind, m.Faults, m.Samples, m.P50.Seconds(), m.P99.Seconds(), m.Max.Seconds())
	}
	if err := table.Flush(); err != nil {
		return err
	}
	total := 0
	for _, kind := range slices.Sorted(maps.Keys(r.Faults)) {
		total += r.Faults[kind]
	}
	fmt.Fprintf(&text, "\nseed %d, %s: %d faults, %d could not be made, %d violations\n", r.Seed, r.Length, total, len(r.Missed), len(r.Result.Violations))
	for _, m := range r.Missed {
		fmt.Fprintf(&text, "  not made at %.1f s: %s: %s\n", m.At.Seconds(), m.Kind, m.Why)
	}
	for _, v := range r.Result.Violations {
		fmt.Fprintf(&text, "  %s %s: %s\n", v.Kind, v.RequestKey, v.What)
	}
	_, err := io.WriteString(output, text.String())
	return err
}
