package check

import (
	"testing"
	"time"
)

func TestTheRecoveryCountsTheIntentsThatWereOpenWhenTheFaultBegan(t *testing.T) {
	t.Parallel()
	began := start.Add(time.Minute)
	at := func(id string, created, ended time.Duration) (Intent, Receipt) {
		return Intent{ID: id, CreatedAt: began.Add(created)},
			Receipt{ReceiptID: ReceiptID{IntentID: id, Generation: 1}, CreatedAt: began.Add(ended)}
	}
	e := Evidence{Faults: []Fault{{Kind: "worker_kill", Began: began}, {Kind: "worker_kill", Began: start.Add(time.Hour)}}}
	for id, times := range map[string][2]time.Duration{
		"ended before":  {-2 * time.Second, -time.Second},
		"came after":    {time.Second, 2 * time.Second},
		"open, quick":   {-time.Second, time.Second},
		"open, slow":    {-time.Second, 3 * time.Second},
		"open, slowest": {0, 9 * time.Second},
	} {
		row, receipt := at(id, times[0], times[1])
		e.Intents, e.Receipts = append(e.Intents, row), append(e.Receipts, receipt)
	}
	e.Intents = append(e.Intents, Intent{ID: "in doubt", CreatedAt: start})
	got := recoveries(e)
	want := Recovery{Kind: "worker_kill", Faults: 2, Samples: 3, P50: 3 * time.Second, P99: 9 * time.Second, Max: 9 * time.Second}
	if len(got) != 1 || got[0] != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
