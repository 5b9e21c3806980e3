package writ

import (
	"context"
	"fmt"
	"sync"

	"writ/outbox"
	"writ/policy"
)

// storedPolicies is the policy of a worker that follows what is in force in PostgreSQL. What does
// not load, or does not fit the worker's tools, gives no answer.
type storedPolicies struct {
	store  *outbox.Store
	hosted []policy.Hosted

	mu sync.Mutex
	// read are the sets that were in force while the worker ran, under their digests.
	read map[string]storedSet
}

// storedSet is a set for the worker's tools, or what is wrong with it.
type storedSet struct {
	policy policy.Deciders
	wrong  error
}

// Name returns "cedar".
func (p *storedPolicies) Name() string { return "cedar" }

// Evaluate asks the set with the digest InForce of the facts, which was followed.
func (p *storedPolicies) Evaluate(ctx context.Context, f policy.Facts) (policy.Verdict, error) {
	if f.InForce == "" {
		return policy.Verdict{Reason: "no policies are in force; put some with `writ policy put`"}, nil
	}
	set, err := p.set(f.InForce)
	if err != nil {
		return policy.Verdict{}, err
	}
	return set.Evaluate(ctx, f)
}

// MayDecide asks the same set. Without one nothing is run, whoever confirms it.
func (p *storedPolicies) MayDecide(ctx context.Context, a policy.Act) (policy.Verdict, error) {
	set, err := p.set(a.On.InForce)
	if err != nil {
		return policy.Verdict{}, err
	}
	return set.MayDecide(ctx, a)
}

// set is the one with the digest.
func (p *storedPolicies) set(digest string) (policy.Deciders, error) {
	p.mu.Lock()
	set, ok := p.read[digest]
	p.mu.Unlock()
	switch {
	case !ok:
		return nil, fmt.Errorf("the policies %s were not read", digest)
	case set.wrong != nil:
		return nil, fmt.Errorf("the policies in force: %w", set.wrong)
	}
	return set.policy, nil
}

// follow reads the set with the digest, once. The error says that PostgreSQL did not answer.
func (p *storedPolicies) follow(ctx context.Context, digest string) error {
	p.mu.Lock()
	_, known := p.read[digest]
	p.mu.Unlock()
	if digest == "" || known {
		return nil
	}
	var entry storedSet
	set, err := readPolicies(ctx, p.store, digest)
	switch {
	case err == nil:
		entry.policy, entry.wrong = set.ForSome(p.hosted)
	case unfitPolicies(err):
		entry.wrong = err
	default:
		return err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.read[digest] = entry
	return nil
}

// preparePolicies keeps the text of the worker's policies, or says which stored ones it begins with.
func (w *Worker) preparePolicies(ctx context.Context) error {
	if written, ok := w.cfg.Policy.(policy.Written); ok {
		return w.store.SavePolicies(ctx, written.Digest().String(), written.Files())
	}
	stored, ok := w.cfg.Policy.(*storedPolicies)
	if !ok {
		return nil
	}
	_, digest, err := w.store.NowAndPolicies(ctx)
	if err != nil {
		return err
	}
	if digest == "" {
		w.log.Warn("no policies are in force, so everything is refused; put some with `writ policy put`")
		return nil
	}
	if err := stored.follow(ctx, digest); err != nil {
		return err
	}
	if wrong := stored.read[digest].wrong; wrong != nil {
		w.log.Error("the policies in force do not fit this worker, so everything is refused as gate_error", "policy_digest", digest, "error", wrong)
	} else {
		w.log.Info("the policies in force are followed", "policy_digest", digest)
	}
	return nil
}
