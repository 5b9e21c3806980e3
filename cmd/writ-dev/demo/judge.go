package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"writ"
	"writ/intent"
	"writ/internal/sandbox"
	"writ/receipts"
)

// finding is what Writ says about one capture.
type finding struct {
	id      intent.ID
	known   bool                  // Writ has an intent for it
	key     intent.IdempotencyKey // that the provider was given
	receipt *receipts.Receipt     // that says completed and applied; nil if there is none
}

// judge compares the captures with the provider's ledger and Writ's receipts.
func judge(ctx context.Context, captures []capture, dead casualty, client *writ.Client, provider *sandbox.Client) (Report, error) {
	ledger, err := provider.Ledger(ctx)
	if err != nil {
		return Report{}, fmt.Errorf("read the provider's ledger: %w", err)
	}
	findings := make([]finding, len(captures))
	for i, c := range captures {
		if findings[i], err = find(ctx, client, c.intentID()); err != nil {
			return Report{}, fmt.Errorf("look at capture %s: %w", c.RequestKey, err)
		}
	}
	report := tally(findings, ledger, dead)
	report.Dropped, err = dropped(ctx, provider)
	return report, err
}

// tally counts. The ledger alone says which captures happened, and how often.
func tally(findings []finding, ledger []sandbox.Entry, dead casualty) Report {
	performed := map[string]bool{} // by idempotency key
	for _, entry := range ledger {
		performed[entry.Key] = true
	}
	report := Report{Captures: len(findings), LedgerEntries: len(ledger), InFlight: len(dead.inFlight)}
	happened := 0
	for _, f := range findings {
		inLedger := f.known && performed[string(f.key)]
		if f.known {
			report.Intents++
		}
		if inLedger {
			happened++
		}
		if f.receipt != nil {
			report.Completed++
		}
		if !inLedger || f.receipt == nil {
			report.Lost++
		}
		if f.receipt != nil && slices.Contains(dead.inFlight, f.id) {
			report.Recovery = max(report.Recovery, f.receipt.EndedAt.Sub(dead.at))
		}
	}
	// An entry that belongs to no capture is one too many as well.
	report.Duplicates = len(ledger) - happened
	return report
}

// find reads what Writ says about a capture.
func find(ctx context.Context, client *writ.Client, id intent.ID) (finding, error) {
	found, err := client.Get(ctx, id)
	if missing(err, intent.CodeIntentNotFound) {
		return finding{id: id}, nil
	}
	if err != nil {
		return finding{}, err
	}
	f := finding{id: id, known: true, key: found.IdempotencyKey}
	body, err := client.Receipt(ctx, id)
	if missing(err, intent.CodeReceiptNotFound) {
		return f, nil
	}
	if err != nil {
		return finding{}, err
	}
	var receipt receipts.Receipt
	if err := json.Unmarshal(body, &receipt); err != nil {
		return finding{}, fmt.Errorf("decode the receipt: %w", err)
	}
	if receipt.State == intent.Completed && receipt.Outcome == intent.Applied {
		f.receipt = &receipt
	}
	return f, nil
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
