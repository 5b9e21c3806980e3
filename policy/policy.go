package policy

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"writ/intent"
	"writ/internal/panictext"
)

// Facts are what a decision is made on.
type Facts struct {
	Context       intent.EffectContext
	Tool          string
	Provider      string
	SideEffectful bool
	Payload       []byte // canonical JSON
	// Risk is from 0 to 1.
	Risk float64
	// Now is the database's time; zero if it is not known.
	Now time.Time
}

// Verdict is a host policy's answer.
type Verdict struct {
	Allow bool
	// Reason is one sentence for the person who reads the decision. It must not repeat
	// secret values of the payload.
	Reason string
	// Policies are the ids of the policies that decided, and Digest is that of the set which they
	// are from. Both may be empty.
	Policies []string
	Digest   string
	// Approval asks for people to confirm before anything is sent; nil: nobody has to. Only if
	// Allow.
	Approval *Approval
}

// Policy is a host's rule about who may run what. Implementations are safe for
// concurrent use.
type Policy interface {
	// Name identifies the policy in decisions and receipts.
	Name() string
	// Evaluate answers within the context's deadline, 500 ms. An error is a denial with
	// code gate_error.
	Evaluate(ctx context.Context, f Facts) (Verdict, error)
}

// timeout is how long a policy may take.
const timeout = 500 * time.Millisecond

// AllowRegistered allows every tool that a worker was given, to every named principal.
// It is the policy of a worker that is configured with no other.
type AllowRegistered struct{}

// Name returns "allow-registered".
func (AllowRegistered) Name() string { return "allow-registered" }

// Evaluate allows.
func (AllowRegistered) Evaluate(context.Context, Facts) (Verdict, error) {
	return Verdict{Allow: true, Reason: "the worker was given this tool"}, nil
}

// Decision is what was decided, and by whom.
type Decision struct {
	Allow  bool   `json:"allow"`
	Policy string `json:"policy"`
	// Code is the reason code of a denial; empty if Allow.
	Code   intent.Code `json:"code,omitempty"`
	Reason string      `json:"reason,omitempty"`
	// SuspectedDuplicateOf is the earlier intent that the request seems to repeat.
	SuspectedDuplicateOf intent.ID `json:"suspected_duplicate_of,omitzero"`
	// Confirm says that people must confirm before anything is sent. Only if Allow.
	Confirm bool `json:"confirm,omitempty"`
	// Approvers is how many different people must; 0 is 1. Only with Confirm.
	Approvers int `json:"approvers,omitempty"`
	// Policies are the ids of the host's policies that decided, and PolicyDigest is that of their
	// set.
	Policies     []string `json:"policies,omitempty"`
	PolicyDigest string   `json:"policy_digest,omitempty"`
}

// builtIn is the Policy of decisions by Writ's own rules.
const builtIn = "writ"

// Canonical returns the decision as canonical JSON.
func (d Decision) Canonical() ([]byte, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("decision: %w", err)
	}
	return intent.Canonicalize(raw)
}

// Engine evaluates the built-in rules and then the host's policy.
type Engine struct {
	policy  Policy
	timeout time.Duration
	log     *slog.Logger
}

// NewEngine returns an engine that asks p last; nil means [AllowRegistered]. Why a policy
// gave no answer is for the operator: it goes to log and not into the decision.
func NewEngine(p Policy, log *slog.Logger) *Engine {
	if p == nil {
		p = AllowRegistered{}
	}
	return &Engine{policy: p, timeout: timeout, log: log}
}

// Decide applies the rules in their order: authentication, then the host's policy. A
// policy's error is a denial; the error of Decide says that ctx ended, and that nothing
// was decided.
func (e *Engine) Decide(ctx context.Context, f Facts) (Decision, error) {
	if f.Context.Principal == "" {
		return Decision{Policy: builtIn, Code: intent.CodeUnauthenticated, Reason: "the request names no principal"}, nil
	}
	limited, cancel := context.WithTimeout(ctx, e.timeout)
	defer cancel()
	verdict, err := e.ask(limited, f)
	switch {
	case err != nil && ctx.Err() != nil:
		// The worker is stopping: that must not become a lasting denial.
		return Decision{}, fmt.Errorf("policy %s: %w", e.policy.Name(), ctx.Err())
	case err != nil:
		e.log.Warn("the policy gave no answer, so the request is denied", "policy", e.policy.Name(), "tool", f.Tool, "error", err)
		return Decision{Policy: e.policy.Name(), Code: intent.CodeGateError, Reason: "the policy gave no answer"}, nil
	case !verdict.Allow:
		return e.decided(verdict, Decision{Code: intent.CodePolicyDenied}), nil
	}
	return e.decided(verdict, Decision{Allow: true}).demand(verdict.Approval), nil
}

// decided says in d what the host's policy answered.
func (e *Engine) decided(v Verdict, d Decision) Decision {
	d.Policy, d.Reason, d.Policies, d.PolicyDigest = e.policy.Name(), v.Reason, v.Policies, v.Digest
	return d
}

// SpecDiverged is the denial of an intent whose tool changed its behaviour between its
// authorization and its first attempt.
func SpecDiverged() Decision {
	return Decision{Policy: builtIn, Code: intent.CodeSpecDiverged,
		Reason: "the tool's behaviour changed after the intent was authorized and before it was sent"}
}

// ask calls the policy and stops waiting for it at the deadline, also if it ignores its
// context; a panic is an error like any other.
func (e *Engine) ask(ctx context.Context, f Facts) (Verdict, error) {
	type answer struct {
		verdict Verdict
		err     error
	}
	answers := make(chan answer, 1)
	go func() {
		var a answer
		defer func() {
			if p := recover(); p != nil {
				a.err = fmt.Errorf("policy %s: %s", e.policy.Name(), panictext.Of(p))
			}
			answers <- a
		}()
		a.verdict, a.err = e.policy.Evaluate(ctx, f)
	}()
	select {
	case a := <-answers:
		return a.verdict, a.err
	case <-ctx.Done():
		return Verdict{}, ctx.Err()
	}
}
