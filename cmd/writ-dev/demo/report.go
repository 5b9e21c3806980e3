package demo

import (
	"fmt"
	"io"
	"time"
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
