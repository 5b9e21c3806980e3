package policy

import (
	"errors"
	"fmt"

	"writ/intent"
	"writ/internal/jsonpointer"
)

// Money is what an intent costs.
type Money struct {
	// Amount is an exact decimal, and Currency is spelled as the payload spells it; empty if the
	// spec names none.
	Amount, Currency string
	// Problem says why the payload cannot be counted, without repeating it; empty if it can.
	Problem string
}

// MoneyOf reads what the payload costs, where the JSON Pointers of a tool's spec say. It is nil if
// amount is empty: the tool costs nothing that a budget could count.
func MoneyOf(payload []byte, amount, currency string) *Money {
	if amount == "" {
		return nil
	}
	m := &Money{Amount: jsonpointer.Text(payload, amount)}
	switch {
	case m.Amount == "":
		m.Problem = fmt.Sprintf("the payload has no amount at %s", amount)
	case !intent.Countable(m.Amount):
		m.Problem = fmt.Sprintf("the amount at %s is no decimal of zero or more with at most 30 digits and 18 behind the point", amount)
	}
	if currency != "" {
		m.Currency = jsonpointer.Text(payload, currency)
		if m.Currency == "" && m.Problem == "" {
			m.Problem = fmt.Sprintf("the payload has no currency at %s", currency)
		}
	}
	return m
}

// OverBudget is the denial of an intent that the budgets have no room for, or that they cannot
// count; false if err says something else.
func OverBudget(err error) (Decision, bool) {
	var e *intent.Error
	if !errors.As(err, &e) || e.Code != intent.CodeBudgetExceeded && e.Code != intent.CodeBudgetUncountable {
		return Decision{}, false
	}
	return Decision{Policy: builtIn, Code: e.Code, Reason: e.Message}, true
}
