package activities

import (
	"writ/policy"
	"writ/tools"
)

// factsOf is what a decision is made on of a tool.
func factsOf(spec tools.Spec) policy.Tool {
	return policy.Tool{
		Name: spec.Name, Category: spec.Category, Provider: spec.Provider, Class: spec.Class(), SideEffectful: spec.SideEffectful,
		Risk: spec.Risk, MaxRisk: spec.MaxRisk, Consents: spec.Consents, DataClasses: spec.DataClasses,
	}
}

// Hosted is what policies may know of published tools before they are asked for.
func Hosted(list []tools.Published) []policy.Hosted {
	out := make([]policy.Hosted, len(list))
	for i, t := range list {
		out[i] = policy.Hosted{
			Name: t.Name, Category: t.Category, Provider: t.Behaviour.Provider, Class: t.Class,
			SideEffectful: t.Behaviour.SideEffectful, InputSchema: t.Behaviour.InputSchema, Amount: t.StakeAmount,
		}
	}
	return out
}
