package check

import (
	"slices"
	"strings"
	"time"
)

// Recovery says how long intents took to their receipts after faults of one kind.
//
// A sample is one intent that was open when one fault began, which means that its row was
// there and its final receipt was not; its time is from the beginning of the fault to the
// receipt. It includes the fault itself, and whatever other faults came meanwhile. An intent
// that ended in doubt has no receipt and is no sample.
type Recovery struct {
	Kind    string        `json:"kind"`
	Faults  int           `json:"faults"`
	Samples int           `json:"samples"`
	P50     time.Duration `json:"p50_ns"`
	P99     time.Duration `json:"p99_ns"`
	Max     time.Duration `json:"max_ns"`
}

// recoveries measures every kind of fault, in the order of their names.
func recoveries(e Evidence) []Recovery {
	ended := map[string]time.Time{}
	for _, r := range e.Receipts {
		if r.Number == 0 {
			ended[r.IntentID] = r.CreatedAt
		}
	}
	faults, samples := map[string]int{}, map[string][]time.Duration{}
	for _, f := range e.Faults {
		faults[f.Kind]++
		for _, row := range e.Intents {
			if end, has := ended[row.ID]; has && !row.CreatedAt.After(f.Began) && end.After(f.Began) {
				samples[f.Kind] = append(samples[f.Kind], end.Sub(f.Began))
			}
		}
	}
	var measured []Recovery
	for kind, count := range faults {
		of := samples[kind]
		slices.Sort(of)
		measured = append(measured, Recovery{
			Kind: kind, Faults: count, Samples: len(of), P50: quantile(of, 50), P99: quantile(of, 99), Max: quantile(of, 100),
		})
	}
	slices.SortFunc(measured, func(a, b Recovery) int { return strings.Compare(a.Kind, b.Kind) })
	return measured
}

// quantile returns the smallest of the sorted times that at least percent of them do not
// exceed; 0 if there are none.
func quantile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[(len(sorted)*percent+99)/100-1]
}
