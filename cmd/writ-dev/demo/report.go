package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"time"

	"writ"
	"writ/intent"
	"writ/internal/sandbox"
	"writ/receipts"
)

// Report is what the demonstration found.
type Report struct {
	Captures      int `json:"captures"`       // that were asked for
	Intents       int `json:"intents"`        // that Writ has
	Completed     int `json:"completed"`      // intents with a receipt that says so
	LedgerEntries int `json:"ledger_entries"` // effects that the provider performed
	// Duplicates counts the ledger's entries beyond one for each capture.
	Duplicates int `json:"duplicates"`
	// Lost counts the captures without an entry in the ledger, or without a
	// receipt that says completed.
	Lost int `json:"lost"`
	// Dropped counts the answers that the provider dropped after it acted.
	Dropped int `json:"dropped_answers"`
	// InFlight counts the captures that the killed worker had claimed and not answered.
	InFlight int `json:"in_flight_at_kill"`
	// Recovery is the time from the kill to the last receipt of those.
	Recovery time.Duration `json:"recovery_ns"`
}

// FailureError says that captures were lost or happened more than once.
type FailureError struct{ Report Report }

func (e *FailureError) Error() string {
	return fmt.Sprintf("%d of %d captures were lost and %d effects were performed too often: please report this with the output above",
		e.Report.Lost, e.Report.Captures, e.Report.Duplicates)
}

// Code returns "demo_failed".
func (e *FailureError) Code() string { return "demo_failed" }

// Verdict is nil if each capture happened exactly once, else a [*FailureError].
func (r Report) Verdict() error {
	if r.Lost == 0 && r.Duplicates == 0 {
		return nil
	}
	return &FailureError{Report: r}
}

// Print writes the report as a table.
func (r Report) Print(output io.Writer) error {
	_, err := fmt.Fprintf(output, `
  captures asked for                     %6d
  intents                                %6d
  completed                              %6d
  provider ledger entries                %6d
  duplicates                             %6d
  lost                                   %6d
  answers that the provider dropped      %6d
  captures in flight when killed         %6d
  kill to the last receipt it delayed    %6.1f s

`, r.Captures, r.Intents, r.Completed, r.LedgerEntries, r.Duplicates, r.Lost, r.Dropped, r.InFlight, r.Recovery.Seconds())
	return err
}

// judge compares the captures with the provider's ledger and Writ's receipts.
func judge(ctx context.Context, captures []capture, dead casualty, client *writ.Client, provider *sandbox.Client) (Report, error) {
	ledger, err := provider.Ledger(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("read the provider's ledger: %w", err)
	}
	entries := map[string]int{} // by idempotency key
	for _, entry := range ledger {
		entries[entry.Key]++
	}
	report := Report{Captures: len(captures), LedgerEntries: len(ledger), InFlight: len(dead.inFlight)}
	inLedger := 0
	for _, c := range captures {
		id := c.intentID()
		found, err := client.Get(ctx, id)
		if missing(err, intent.CodeIntentNotFound) {
			report.Lost++
			continue
		}
		if err != nil {
			return Report{}, fmt.Errorf("look at a capture: %w", err)
		}
		report.Intents++
		receipt, err := completedReceipt(ctx, client, id)
		if err != nil {
			return Report{}, fmt.Errorf("look at a receipt: %w", err)
		}
		performed := entries[string(found.IdempotencyKey)] > 0
		if performed {
			inLedger++
		}
		if receipt != nil {
			report.Completed++
		}
		if !performed || receipt == nil {
			report.Lost++
		}
		if receipt != nil && slices.Contains(dead.inFlight, id) {
			report.Recovery = max(report.Recovery, receipt.EndedAt.Sub(dead.at))
		}
	}
	// An entry that belongs to no capture is one too many as well.
	report.Duplicates = len(ledger) - inLedger
	report.Dropped, err = dropped(ctx, provider)
	return report, err
}

// completedReceipt returns the intent's receipt if it says that the effect happened.
func completedReceipt(ctx context.Context, client *writ.Client, id intent.ID) (*receipts.Receipt, error) {
	body, err := client.Receipt(ctx, id)
	if missing(err, intent.CodeReceiptNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var receipt receipts.Receipt
	if err := json.Unmarshal(body, &receipt); err != nil {
		return nil, err
	}
	if receipt.State != intent.Completed || receipt.Outcome != intent.Applied {
		return nil, nil
	}
	return &receipt, nil
}

func missing(err error, code intent.Code) bool { return err != nil && intent.CodeOf(err) == code }

// dropped returns how many answers the provider dropped.
func dropped(ctx context.Context, provider *sandbox.Client) (int, error) {
	faults, err := provider.Faults(ctx)
	if err != nil {
		return 0, fmt.Errorf("read the provider's faults: %w", err)
	}
	count := 0
	for _, fault := range faults {
		count += fault.Fired
	}
	return count, nil
}
