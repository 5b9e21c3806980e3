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
