package policy

import (
	"context"
	"errors"
)

// RiskScorer says how much is at risk in a request. Implementations are safe for concurrent use,
// as those of every gate.
type RiskScorer interface {
	// Name identifies the gate in decisions and receipts.
	Name() string
	// Score answers from 0, nothing, to 1 within the context's deadline, 500 ms. It can only raise
	// what the tool and the caller state. An error, and a score that is none, are a denial with
	// code gate_error.
	Score(ctx context.Context, f Facts) (float64, error)
}

// ConsentGate says whether the person whom it concerns has consented. It is asked about tools that
// declare a need.
type ConsentGate interface {
	// Name identifies the gate in decisions and receipts.
	Name() string
	// Consented allows if there is consent to every purpose of f.Tool.Consents, within the
	// context's deadline, 500 ms. An error is a denial with code gate_error.
	Consented(ctx context.Context, f Facts) (Verdict, error)
}

// EgressGate says whether data may leave for a provider. It is asked about tools that declare that
// any does.
type EgressGate interface {
	// Name identifies the gate in decisions and receipts.
	Name() string
	// MayLeave allows if every class of f.Tool.DataClasses may be sent to f.Tool.Provider, within
	// the context's deadline, 500 ms. An error is a denial with code gate_error.
	MayLeave(ctx context.Context, f Facts) (Verdict, error)
}

// Gates are what an engine asks before the host's policy.
type Gates struct {
	// Risk scores requests. nil: the tool's and the caller's word stand.
	Risk RiskScorer
	// Consent and Egress are asked about what a tool declares. [NoGate]: there is none, and a
	// declared need is denied. nil: of a worker, the one that goes by what the outbox has recorded;
	// of an engine by itself, none.
	Consent ConsentGate
	Egress  EgressGate
	// Development lets a declared need pass for which there is no gate, or of which nobody has said
	// anything (Verdict.Unsaid), and says so each time, in the log and in the decision. Any other no
	// stands.
	Development bool
}

// ofOutbox is a gate that asks the outbox, whose method has no other use. Where it gives no answer,
// nothing is decided: the denial could not be recorded there either.
type ofOutbox interface{ OfOutbox() }

func (g Gates) withDefaults() Gates {
	if g.Consent == nil {
		g.Consent = NoGate{}
	}
	if g.Egress == nil {
		g.Egress = NoGate{}
	}
	return g
}

// NoGate stands where there is no gate.
type NoGate struct{}

func isNone(gate any) bool {
	_, none := gate.(NoGate)
	return none
}

var errNoGate = errors.New("there is no gate")

// Name returns "none".
func (NoGate) Name() string { return "none" }

// Consented says that nobody can answer.
func (NoGate) Consented(context.Context, Facts) (Verdict, error) { return Verdict{}, errNoGate }

// MayLeave says that nobody can answer.
func (NoGate) MayLeave(context.Context, Facts) (Verdict, error) { return Verdict{}, errNoGate }
