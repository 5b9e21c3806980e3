package policy

import "writ/intent"

// Rule is one reason why a request is not run, or not yet.
type Rule struct {
	Code intent.Code
	// Recorded says that the denial stands on a row and in a receipt. Otherwise nothing is written,
	// because what was sent is no request that could be decided on.
	Recorded bool
	// Confirming says that a person's confirmation lets the request go on. Whether the same request
	// again can help is in [intent.Codes].
	Confirming bool
}

// Order returns the rules in their order: a request that breaks several is answered with the first.
// A gate that gives no answer is a gate_error in its own place, with which the order ends; so that
// code is not in the list.
func Order() []Rule {
	return []Rule{
		{Code: intent.CodeUnauthenticated},
		{Code: intent.CodeUnknownTool},
		{Code: intent.CodeSpecDiverged, Recorded: true},
		{Code: intent.CodeInputSchema},
		{Code: intent.CodeRiskExceeded, Recorded: true},
		{Code: intent.CodeConsentGateMissing, Recorded: true},
		{Code: intent.CodeConsentRequired, Recorded: true},
		{Code: intent.CodeEgressGateMissing, Recorded: true},
		{Code: intent.CodeEgressDenied, Recorded: true},
		{Code: intent.CodePolicyDenied, Recorded: true},
		{Code: intent.CodeBudgetUncountable, Recorded: true},
		{Code: intent.CodeBudgetExceeded, Recorded: true},
		{Code: intent.CodeDuplicateSuspected, Recorded: true},
		{Code: intent.CodeConfirmationRequired, Recorded: true, Confirming: true},
		{Code: intent.CodeConfirmationInsufficient, Recorded: true},
		{Code: intent.CodeConfirmationExpired, Recorded: true},
		{Code: intent.CodeConfirmationDenied, Recorded: true},
	}
}

// Confirming reports whether a person's confirmation lets a request go on that was answered with the
// code. denial is false if no rule answers with it.
func Confirming(code intent.Code) (confirming, denial bool) {
	for _, rule := range Order() {
		if rule.Code == code {
			return rule.Confirming, true
		}
	}
	return false, code == intent.CodeGateError
}
