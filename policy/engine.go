package policy

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"writ/intent"
)

// Engine evaluates the built-in rules, asks the gates, and then the host's policy.
type Engine struct {
	policy  Policy
	gates   Gates
	timeout time.Duration
	log     *slog.Logger
}

// NewEngine returns an engine without gates that asks p last; nil means [AllowRegistered]. Why a
// policy or a gate gave no answer is for the operator: it goes to log and not into the decision.
func NewEngine(p Policy, log *slog.Logger) *Engine {
	if p == nil {
		p = AllowRegistered{}
	}
	return &Engine{policy: p, gates: Gates{}.withDefaults(), timeout: timeout, log: log}
}

// With returns the engine with these gates.
func (e *Engine) With(g Gates) *Engine {
	gated := *e
	gated.gates = g.withDefaults()
	return &gated
}

// Decide applies the rules in their order, see [Order], up to the host's policy; the first that
// says no decides. A gate's or the policy's error is a denial; the error of Decide says that nothing
// was decided, because ctx ended, or because what a gate asks is away with the rest of the outbox.
func (e *Engine) Decide(ctx context.Context, f Facts) (Decision, error) {
	on := &evaluation{Engine: e, facts: f}
	for _, rule := range []func(context.Context) (Decision, error){on.authentication, on.risk, on.consent, on.egress} {
		d, err := rule(ctx)
		if err != nil || d.Code != "" {
			return on.told(d), err
		}
	}
	d, err := on.hostPolicy(ctx)
	return on.told(d), err
}

// evaluation is one decision while it is made. Its rules return the zero Decision if they have
// nothing against the request.
type evaluation struct {
	*Engine
	facts Facts
	// scored says that facts.Risk is what is decided on.
	scored bool
	// passed are the needs that the development profile let pass.
	passed []string
}

// told adds to a decision what was learnt on the way to it.
func (on *evaluation) told(d Decision) Decision {
	if d.Policy == "" {
		return d // nothing was decided
	}
	if on.scored {
		d.Risk = on.facts.Risk
	}
	if len(on.passed) > 0 {
		d.Reason = strings.TrimPrefix(d.Reason+"; ", "; ") + "the development profile let pass that " + strings.Join(on.passed, " and that ")
	}
	return d
}

func (on *evaluation) authentication(context.Context) (Decision, error) {
	if on.facts.Context.Principal == "" {
		return Decision{Policy: builtIn, Code: intent.CodeUnauthenticated, Reason: "the request names no principal"}, nil
	}
	return Decision{}, nil
}

func (on *evaluation) risk(ctx context.Context) (Decision, error) {
	on.facts.Risk = max(on.facts.Tool.Risk, on.facts.Context.Risk)
	if scorer := on.gates.Risk; scorer != nil {
		score, denial, err := consult(ctx, on, scorer, func(ctx context.Context) (float64, error) {
			score, err := scorer.Score(ctx, on.facts)
			if err == nil && !intent.IsRisk(score) {
				err = fmt.Errorf("the score %v is not from 0 to 1", score)
			}
			return score, err
		})
		if err != nil || denial.Code != "" {
			return denial, err
		}
		on.facts.Risk = max(on.facts.Risk, score)
	}
	on.scored = true
	if limit := cmp.Or(on.facts.Tool.MaxRisk, 1); on.facts.Risk > limit {
		return Decision{Policy: builtIn, Code: intent.CodeRiskExceeded,
			Reason: fmt.Sprintf("the risk is %v, and the tool may be run with %v at most", on.facts.Risk, limit)}, nil
	}
	return Decision{}, nil
}

func (on *evaluation) consent(ctx context.Context) (Decision, error) {
	if len(on.facts.Tool.Consents) == 0 {
		return Decision{}, nil
	}
	gate := on.gates.Consent
	return on.need(ctx, need{
		what: "consent to " + strings.Join(on.facts.Tool.Consents, ", "), gate: gate, ask: gate.Consented,
		missing: intent.CodeConsentGateMissing, denied: intent.CodeConsentRequired,
	})
}

func (on *evaluation) egress(ctx context.Context) (Decision, error) {
	if len(on.facts.Tool.DataClasses) == 0 {
		return Decision{}, nil
	}
	gate := on.gates.Egress
	return on.need(ctx, need{
		what: "egress of " + strings.Join(on.facts.Tool.DataClasses, ", ") + " to " + on.facts.Tool.Provider, gate: gate, ask: gate.MayLeave,
		missing: intent.CodeEgressGateMissing, denied: intent.CodeEgressDenied,
	})
}

// need is something that a tool declares and a gate answers for.
type need struct {
	what string
	gate named
	ask  func(context.Context, Facts) (Verdict, error)
	// missing is the code of the denial without a gate, and denied that of the gate's.
	missing, denied intent.Code
}

func (on *evaluation) need(ctx context.Context, n need) (Decision, error) {
	if isNone(n.gate) {
		if on.lets("there is no gate for " + n.what) {
			return Decision{}, nil
		}
		return Decision{Policy: builtIn, Code: n.missing, Reason: "the tool needs " + n.what + ", and this worker has no gate to ask about it"}, nil
	}
	verdict, denial, err := judge(ctx, on, n.gate, func(ctx context.Context) (Verdict, error) { return n.ask(ctx, on.facts) })
	if err != nil || denial.Code != "" || verdict.Allow || verdict.Unsaid && on.lets("nobody has said anything of "+n.what) {
		return denial, err
	}
	return Decision{Policy: n.gate.Name(), Code: n.denied, Reason: cmp.Or(verdict.Reason, "there is no "+n.what)}, nil
}

// lets reports whether the development profile lets something pass, and says so if it does.
func (on *evaluation) lets(pass string) bool {
	if on.gates.Development {
		on.log.Warn("the development profile lets a request pass that would be denied", "because", pass, "tool", on.facts.Tool.Name)
		on.passed = append(on.passed, pass)
	}
	return on.gates.Development
}

func (on *evaluation) hostPolicy(ctx context.Context) (Decision, error) {
	verdict, denial, err := judge(ctx, on, on.policy, func(ctx context.Context) (Verdict, error) { return on.policy.Evaluate(ctx, on.facts) })
	if err != nil || denial.Code != "" {
		return denial, err
	}
	d := Decision{Allow: verdict.Allow, Policy: on.policy.Name(), Reason: verdict.Reason, Policies: verdict.Policies, PolicyDigest: verdict.Digest}
	if !d.Allow {
		d.Code = intent.CodePolicyDenied
		return d, nil
	}
	return d.demand(verdict.Approval), nil
}

// judge is consult for a verdict, which has to be one that a decision can hold.
func judge(ctx context.Context, on *evaluation, whom named, question func(context.Context) (Verdict, error)) (Verdict, Decision, error) {
	return consult(ctx, on, whom, func(ctx context.Context) (Verdict, error) {
		v, err := question(ctx)
		if err == nil {
			err = v.check()
		}
		return v, err
	})
}

// consult asks a gate or a policy. The denial is not the zero Decision if it gave no answer; the
// error says that nothing was decided.
func consult[T any](ctx context.Context, on *evaluation, whom named, question func(context.Context) (T, error)) (T, Decision, error) {
	limited, cancel := context.WithTimeout(ctx, on.timeout)
	defer cancel()
	answer, err := ask(limited, question)
	if err == nil {
		return answer, Decision{}, nil
	}
	name := whom.Name()
	_, asksOutbox := whom.(ofOutbox)
	switch {
	case ctx.Err() != nil:
		// The worker is stopping: that must not become a lasting denial.
		return answer, Decision{}, fmt.Errorf("policy %s: %w", name, ctx.Err())
	case asksOutbox, limited.Err() == nil && intent.CodeOf(err) == intent.CodeDatabaseUnavailable:
		// What the gate asks is the outbox, without which nothing can be recorded either.
		return answer, Decision{}, fmt.Errorf("policy %s: %w", name, err)
	}
	on.log.Warn("a gate gave no answer, so the request is denied", "gate", name, "tool", on.facts.Tool.Name, "error", err)
	return answer, Decision{Policy: name, Code: intent.CodeGateError, Reason: name + " gave no answer"}, nil
}
