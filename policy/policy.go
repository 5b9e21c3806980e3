package policy

import (
	"context"
	"fmt"
	"slices"
	"time"

	"writ/intent"
)

// Facts are what a decision is made on. Whoever is given them changes nothing of them.
type Facts struct {
	Context intent.EffectContext
	Tool    Tool
	Payload []byte // canonical JSON
	// Risk is from 0 to 1: the highest of what the tool states, the caller and the scorer. The
	// scorer is given that of the other two.
	Risk float64
	// Now is the database's time.
	Now time.Time
	// InForce is the digest of the policies that are in force in PostgreSQL at that time; empty if
	// none are. Only a policy that follows them may rely on it.
	InForce string
}

// Tool is what a tool's spec says of it.
type Tool struct {
	Name, Category, Provider string
	Class                    intent.Class
	SideEffectful            bool
	// Risk is what the tool itself states, from 0 to 1, and MaxRisk what it may be run with; 0
	// stands for 1.
	Risk, MaxRisk float64
	// Consents are the purposes that a person must have consented to, and DataClasses what is sent
	// to the provider.
	Consents, DataClasses []string
}

// The limits of a verdict, which stands in decisions, receipts and Temporal's history. One that is
// beyond them is no answer: a denial with code gate_error.
const (
	// MaxApprovers is how many people an Approval may ask for.
	MaxApprovers = 20
	// MaxPolicies is how many policies a verdict may name.
	MaxPolicies = 2000
	// MaxReason is the length of a reason in bytes.
	MaxReason = 16 << 10
	// maxID is the length in bytes of a policy's id, and of a digest.
	maxID = 255
)

// Verdict is the answer of a host's policy, or of a gate.
type Verdict struct {
	Allow bool
	// Unsaid says of a gate's no that nobody has said anything: the development profile lets it
	// pass. Only without Allow.
	Unsaid bool
	// Reason is one sentence for the person who reads the decision, of at most MaxReason bytes. It
	// must not repeat secret values of the payload.
	Reason string
	// Policies are the ids of the policies that decided, MaxPolicies at most, and Digest is that of
	// the set which they are from. Both may be empty; an id or a digest has at most 255 bytes.
	Policies []string
	Digest   string
	// Approval asks for people to confirm before anything is sent; nil: nobody has to. Only if
	// Allow.
	Approval *Approval
}

// check is the error of a verdict that is beyond the limits. It repeats nothing of it.
func (v Verdict) check() error {
	tooLong := func(id string) bool { return len(id) > maxID }
	switch {
	case len(v.Reason) > MaxReason:
		return fmt.Errorf("the reason has %d bytes and %d are allowed", len(v.Reason), MaxReason)
	case len(v.Policies) > MaxPolicies:
		return fmt.Errorf("%d policies are named and %d may be", len(v.Policies), MaxPolicies)
	case tooLong(v.Digest) || slices.ContainsFunc(v.Policies, tooLong):
		return fmt.Errorf("an id or the digest has more than %d bytes", maxID)
	case v.Approval != nil && (v.Approval.Approvers < 0 || v.Approval.Approvers > MaxApprovers):
		return fmt.Errorf("%d people are to confirm, and that is not from 1 to %d", v.Approval.Approvers, MaxApprovers)
	}
	return nil
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

// AllowRegistered allows every tool that a worker was given, to every named principal.
// It is the policy of a worker that is configured with no other.
type AllowRegistered struct{}

// Name returns "allow-registered".
func (AllowRegistered) Name() string { return "allow-registered" }

// Evaluate allows.
func (AllowRegistered) Evaluate(context.Context, Facts) (Verdict, error) {
	return Verdict{Allow: true, Reason: "the worker was given this tool"}, nil
}
