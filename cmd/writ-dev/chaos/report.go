package chaos

import (
	"fmt"
	"io"
	"slices"
	"strings"
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

// Print writes the report: tables that are Markdown as they stand, what could not be made,
// and what was found.
func (r Report) Print(output io.Writer) error {
	var text strings.Builder
	fmt.Fprintf(&text, "\n%s\n%s\n%s\n", r.summary(), r.classes(), r.recoveries())
	fmt.Fprintf(&text, "seed %d, %s: %d faults, %d could not be made, %d violations\n",
		r.Seed, r.Length, r.faults(), len(r.Missed), len(r.Result.Violations))
	for _, m := range r.Missed {
		fmt.Fprintf(&text, "  not made at %.1f s: %s: %s\n", m.At.Seconds(), m.Kind, m.Why)
	}
	for _, v := range r.Result.Violations {
		fmt.Fprintf(&text, "  %s %s: %s\n", v.Kind, v.RequestKey, v.What)
	}
	_, err := io.WriteString(output, text.String())
	return err
}

// faults counts those that happened.
func (r Report) faults() (total int) {
	for _, times := range r.Faults {
		total += times
	}
	return total
}

// summary is the run in one row.
func (r Report) summary() *table {
	all := r.Result.Total()
	t := &table{}
	t.add("Seed", "Faults last", "Faults", "Intents", "Effects", "Duplicates", "Lost", "In doubt", "Not allowed", "Late", "Violations")
	t.add(fmt.Sprint(r.Seed), r.Length.String(), fmt.Sprint(r.faults()), fmt.Sprint(all.Intents), fmt.Sprint(all.Effects), fmt.Sprint(all.Duplicates),
		fmt.Sprint(all.Lost), fmt.Sprint(all.InDoubt), fmt.Sprint(all.Unjustified), fmt.Sprint(all.Late), fmt.Sprint(len(r.Result.Violations)))
	return t
}

// classes has a row for each effect class, and one for their sum.
func (r Report) classes() *table {
	t := &table{}
	t.add("Class", "Intents", "Completed", "Failed", "In doubt", "Not allowed", "Effects", "Duplicates", "Lost", "Late")
	for _, c := range append(slices.Clone(r.Result.Classes), r.Result.Total()) {
		row := []string{c.Class}
		for _, n := range []int{c.Intents, c.Completed, c.Failed, c.InDoubt, c.Unjustified, c.Effects, c.Duplicates, c.Lost, c.Late} {
			row = append(row, fmt.Sprint(n))
		}
		t.add(row...)
	}
	return t
}

// recoveries has a row for each kind of fault.
func (r Report) recoveries() *table {
	t := &table{}
	t.add("Fault", "Times", "Open intents", "p50", "p99", "Max")
	for _, m := range r.Result.Recoveries {
		times := []string{"-", "-", "-"}
		if m.Samples > 0 {
			for i, took := range []time.Duration{m.P50, m.P99, m.Max} {
				times[i] = fmt.Sprintf("%.1f s", took.Seconds())
			}
		}
		t.add(m.Kind, fmt.Sprint(m.Faults), fmt.Sprint(m.Samples), times[0], times[1], times[2])
	}
	return t
}
