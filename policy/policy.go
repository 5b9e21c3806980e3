package policy

import (
	"context"
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

// Verdict is the answer of a host's policy, or of a gate.
type Verdict struct {
	Allow bool
	// Unsaid says of a gate's no that nobody has said anything: the development profile lets it
	// pass. Only without Allow.
	Unsaid bool
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

// AllowRegistered allows every tool that a worker was given, to every named principal.
// It is the policy of a worker that is configured with no other.
type AllowRegistered struct{}

// Name returns "allow-registered".
func (AllowRegistered) Name() string { return "allow-registered" }

// Evaluate allows.
func (AllowRegistered) Evaluate(context.Context, Facts) (Verdict, error) {
	return Verdict{Allow: true, Reason: "the worker was given this tool"}, nil
}
