package outbox

import "context"

// PoliciesInForce is what somebody put in force, and what it is to rule.
type PoliciesInForce struct {
	// PolicyChange has number 0 if nothing was ever put in force.
	PolicyChange
	Files map[string]string
	Tools []Spec
}

// Policies reads the policies in force and the tools that workers have published.
func (i *Inspector) Policies(ctx context.Context) (PoliciesInForce, error) {
	const what = "read the policies"
	list, err := policyChanges(ctx, i.conn, 1)
	if err != nil || len(list) == 0 {
		return PoliciesInForce{}, wrap(what, err)
	}
	found := PoliciesInForce{PolicyChange: list[0]}
	if found.Files, _, err = policies(ctx, i.conn, found.Digest); err != nil {
		return found, wrap(what, err)
	}
	found.Tools, err = specs(ctx, i.conn)
	return found, wrap("read the published tools", err)
}
