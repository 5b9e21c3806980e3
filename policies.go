package writ

import (
	"context"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/policy/cedar"
	"writ/tools"
)

// PolicyChange is what somebody put in force.
type PolicyChange struct {
	// Number counts the changes from 1.
	Number int `json:"number"`
	// Digest is that of the set, as it stands in decisions and receipts.
	Digest string `json:"digest"`
	// InForce says that nobody has put another set in force since.
	InForce bool `json:"in_force"`
	Statement
}

func policyChangeOf(c outbox.PolicyChange, inForce bool) PolicyChange {
	return PolicyChange{Number: c.Number, Digest: c.Digest, InForce: inForce, Statement: statementOf(c.Said)}
}

// PolicySet is the text of a set of policies.
type PolicySet struct {
	Digest string `json:"digest"`
	// Files are the texts under the names of their files.
	Files map[string]string `json:"files"`
}

// PutPolicies puts Cedar policies in force: texts under the names of their files, which end in
// ".cedar". Workers with WorkerConfig.StoredPolicies follow them from their next decision on. To put
// what is in force already changes nothing. The error has code invalid_policy, and wraps
// cedar.Faults, if they do not fit the tools that workers have published.
func (c *Client) PutPolicies(ctx context.Context, files map[string]string, by Decider) (PolicyChange, error) {
	if err := by.check(); err != nil {
		return PolicyChange{}, err
	}
	set, err := cedar.FromFiles(files)
	if err != nil {
		return PolicyChange{}, err
	}
	list, err := c.Tools(ctx)
	if err != nil {
		return PolicyChange{}, err
	}
	if _, err := set.ForTools(Hosted(list)); err != nil {
		return PolicyChange{}, err
	}
	change, err := c.store.PutPolicies(ctx, set.Digest().String(), files, by.recorded())
	if err != nil {
		return PolicyChange{}, undecided(ctx, outbox.Row{}, err)
	}
	return policyChangeOf(change, true), nil
}

// PolicyChanges returns who put which policies in force, newest first, 1,000 at most.
func (c *Client) PolicyChanges(ctx context.Context) ([]PolicyChange, error) {
	changes, err := c.store.PolicyChanges(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]PolicyChange, len(changes))
	for i, change := range changes {
		list[i] = policyChangeOf(change, i == 0)
	}
	return list, nil
}

// Policies returns the policies with the digest, which were in force once or that a worker had;
// an empty digest stands for those in force. The error has code policies_not_found if there are
// none.
func (c *Client) Policies(ctx context.Context, digest string) (PolicySet, error) {
	if digest == "" {
		var err error
		if _, digest, err = c.store.NowAndPolicies(ctx); err != nil {
			return PolicySet{}, err
		}
		if digest == "" {
			return PolicySet{}, intent.Errorf(intent.CodePoliciesNotFound, "no policies are in force; put some with `writ policy put`")
		}
	}
	set, err := readPolicies(ctx, c.store, digest)
	if err != nil {
		return PolicySet{}, err
	}
	return PolicySet{Digest: digest, Files: set.Files()}, nil
}

// Hosted is what policies may know of the tools.
func Hosted(list []Tool) []policy.Hosted {
	published := make([]tools.Published, len(list))
	for i, t := range list {
		published[i] = t.Published
	}
	return activities.Hosted(published)
}

// readPolicies reads the set with the digest.
func readPolicies(ctx context.Context, store *outbox.Store, digest string) (*cedar.Set, error) {
	files, known, err := store.Policies(ctx, digest)
	if err != nil {
		return nil, err
	}
	if !known {
		return nil, intent.Errorf(intent.CodePoliciesNotFound, "no policies have the digest %.64q; `writ policy list` shows those that were put in force", digest)
	}
	return cedar.Stored(digest, files)
}

// unfitPolicies reports an error about the policies themselves, which asking again does not mend.
func unfitPolicies(err error) bool {
	code := intent.CodeOf(err)
	return code == intent.CodeInvalidPolicy || code == intent.CodePoliciesNotFound
}
