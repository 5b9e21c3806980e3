package demo

import (
	"errors"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/sandbox"
	"writ/receipts"
)

func TestTheVerdictFindsWhatIsLostAndWhatHappenedTooOften(t *testing.T) {
	t.Parallel()
	killed := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	completed := func(n byte, after time.Duration) finding {
		return finding{
			id: intent.ID{n}, known: true, key: key(n),
			receipt: &receipts.Receipt{State: intent.Completed, Outcome: intent.Applied, EndedAt: killed.Add(after)},
		}
	}
	unfinished := finding{id: intent.ID{2}, known: true, key: key(2)}
	unknown := finding{id: intent.ID{2}}

	for _, c := range []struct {
		name             string
		findings         []finding
		ledger           []byte // one key for each entry
		lost, duplicates int
	}{
		{"each once", []finding{completed(1, 0), completed(2, 0)}, []byte{2, 1}, 0, 0},
		{"one twice", []finding{completed(1, 0), completed(2, 0)}, []byte{1, 2, 1}, 0, 1},
		{"an effect that nobody asked for", []finding{completed(1, 0)}, []byte{1, 9}, 0, 1},
		{"completed by Writ's word alone", []finding{completed(1, 0), completed(2, 0)}, []byte{1}, 1, 0},
		{"performed without a receipt", []finding{completed(1, 0), unfinished}, []byte{1, 2}, 1, 0},
		{"not accepted", []finding{completed(1, 0), unknown}, []byte{1}, 1, 0},
		{"one lost and another twice", []finding{completed(1, 0), unfinished}, []byte{1, 1}, 1, 1},
	} {
		report := tally(c.findings, entries(c.ledger), casualty{at: killed})
		if report.Lost != c.lost || report.Duplicates != c.duplicates || report.LedgerEntries != len(c.ledger) {
			t.Errorf("%s: got %+v, want %d lost and %d duplicates", c.name, report, c.lost, c.duplicates)
		}
		var failure *FailureError
		if err := report.Verdict(); errors.As(err, &failure) != (c.lost+c.duplicates > 0) {
			t.Errorf("%s: the verdict is %v", c.name, err)
		}
	}
}

func TestTheRecoveryIsMeasuredByTheLastReceiptThatTheKillDelayed(t *testing.T) {
	t.Parallel()
	killed := time.Date(2026, 3, 2, 12, 0, 0, 0, time.UTC)
	var findings []finding
	for n, after := range map[byte]time.Duration{1: time.Second, 2: 3 * time.Second, 3: 9 * time.Second} {
		findings = append(findings, finding{
			id: intent.ID{n}, known: true, key: key(n), receipt: &receipts.Receipt{EndedAt: killed.Add(after)},
		})
	}
	dead := casualty{at: killed, inFlight: []intent.ID{{1}, {2}}} // the third was only slow
	report := tally(findings, entries([]byte{1, 2, 3}), dead)
	if report.Recovery != 3*time.Second || report.InFlight != 2 {
		t.Errorf("got %+v, want 3 s for 2 captures", report)
	}
}

func key(n byte) intent.IdempotencyKey { return intent.IdempotencyKey([]byte{'k', n}) }

func entries(keys []byte) []sandbox.Entry {
	var ledger []sandbox.Entry
	for _, n := range keys {
		ledger = append(ledger, sandbox.Entry{Key: string(key(n))})
	}
	return ledger
}
