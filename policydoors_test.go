package writ

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/policy"
)

// Each call with the mistakes that a program makes: nothing set, too much, and what only a type conversion can give.
func TestWhatAProgramGetsWrongIsRefusedBeforeAnyIO(t *testing.T) {
	t.Parallel()
	ada, nobody := Decider{Principal: "ada"}, Decider{}
	var offline Client // it would panic
	ctx := t.Context()
	per := func(r BudgetRequest) error { return second(offline.SetBudget(ctx, r, ada)) }
	roles := make([]string, intent.MaxRoles+1)
	for i := range roles {
		roles[i] = "r" + strings.Repeat("x", i)
	}
	hourly := BudgetRequest{Tenant: "acme", Kind: BudgetMoney, Allowed: "1", Window: time.Hour}
	with := func(change func(*BudgetRequest)) BudgetRequest { r := hourly; change(&r); return r }
	for i, c := range []struct {
		code intent.Code
		err  error
	}{
		{intent.CodeUnauthenticated, second(offline.Confirm(ctx, intent.ID{}, nobody))},
		{intent.CodeUnauthenticated, second(offline.PutPolicies(ctx, nil, nobody))},
		{intent.CodeUnauthenticated, second(offline.SetBudget(ctx, hourly, nobody))},
		{intent.CodeUnauthenticated, second(offline.RemoveBudget(ctx, "", nobody))},
		{intent.CodeInvalidRequest, second(offline.Deny(ctx, intent.ID{}, Decider{Principal: "ada", Roles: roles}))},
		{intent.CodeInvalidRequest, second(offline.Deny(ctx, intent.ID{}, Decider{Principal: "ada", OnBehalfOf: slices.Repeat([]string{"bob"}, 2)}))},
		{intent.CodeInvalidName, second(offline.Deny(ctx, intent.ID{}, Decider{Principal: "ada", Roles: []string{""}}))},
		{intent.CodeInvalidCommitment, second(offline.ConfirmShown(ctx, intent.ID{1}, "a", ada))},
		{intent.CodeInvalidCommitment, second(offline.ConfirmShown(ctx, intent.ID{1}, "\x1b[2J", ada))},
		{intent.CodeInvalidPolicy, second(offline.PutPolicies(ctx, nil, ada))},
		{intent.CodeInvalidPolicy, second(offline.PutPolicies(ctx, map[string]string{"": ""}, ada))},
		{intent.CodeInvalidPolicy, second(ExplainPolicies(ctx, nil, Tool{}, policy.Act{}))},
		{intent.CodeInvalidName, second(offline.GrantConsent(ctx, ConsentSubject{}, ada))},
		{intent.CodeInvalidName, second(offline.AllowEgress(ctx, EgressSubject{}, ada))},
		{intent.CodeInvalidBudget, second(offline.BudgetChanges(ctx, ""))},
		{intent.CodeInvalidName, per(BudgetRequest{})},
		{intent.CodeInvalidBudget, per(BudgetRequest{Tenant: "acme"})},
		{intent.CodeInvalidBudget, per(with(func(r *BudgetRequest) { r.Allowed = "NaN" }))},
		{intent.CodeInvalidBudget, per(with(func(r *BudgetRequest) { r.Allowed = "" }))},
		{intent.CodeInvalidBudget, per(with(func(r *BudgetRequest) { r.Window = math.MinInt64 }))},
		{intent.CodeInvalidBudget, per(with(func(r *BudgetRequest) { r.Window = math.MaxInt64 }))},
		{intent.CodeInvalidBudget, per(with(func(r *BudgetRequest) { r.Window = time.Hour + 1 }))},
		{intent.CodeInvalidBudget, per(with(func(r *BudgetRequest) { r.Currency = "\u202e" }))},
		{intent.CodeInvalidBudget, per(with(func(r *BudgetRequest) { r.Kind = "\x00" }))},
		{intent.CodeInvalidBudget, per(with(func(r *BudgetRequest) { r.Over = "\xff" }))},
		{intent.CodeInvalidRequest, second(ActOf("tool.confrim", ada, policy.Facts{}))},
		{intent.CodeUnauthenticated, second(ActOf(policy.ActionConfirm, nobody, policy.Facts{}))},
	} {
		if intent.CodeOf(c.err) != c.code || len(c.err.Error()) > 400 {
			t.Errorf("%d: %v, want %s", i, c.err, c.code)
		}
	}
	e, err := ExplainPolicies(ctx, map[string]string{"a.cedar": "permit (principal, action, resource);"}, Tool{}, policy.Act{})
	if err != nil || e.Allow || e.Error == "" {
		t.Errorf("nothing is explained of nothing: %+v, %v", e, err)
	}
}

func TestWhoStopsWaitingBeforeItBeganHasWrittenNothing(t *testing.T) {
	t.Parallel()
	e, _, _, id := held(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ada := Decider{Principal: "bob"}
	permits := map[string]string{"a.cedar": "permit (principal, action, resource);"}
	for what, err := range map[string]error{
		"confirm": second(e.Confirm(ctx, id, ada)), "deny": second(e.Deny(ctx, id, ada)), "cancel": second(e.Cancel(ctx, id, ada)),
		"consent": second(e.GrantConsent(ctx, ConsentSubject{Tenant: "acme", Person: "ada", Purpose: "marketing"}, ada)),
		"egress":  second(e.AllowEgress(ctx, EgressSubject{DataClass: "contact", Provider: "mailer"}, ada)),
		"budget":  second(e.SetBudget(ctx, BudgetRequest{Tenant: "acme", Kind: BudgetConcurrency, Allowed: "1"}, ada)),
		"put":     second(e.PutPolicies(ctx, permits, ada)), "show": second(e.Policies(ctx, "")), "explain": second(e.ExplainIntent(ctx, id, permits)),
		"changes": second(e.PolicyChanges(ctx)), "consents": second(e.Consents(ctx, ConsentSubject{}, false)), "budgets": second(e.Budgets(ctx, "", false)),
	} {
		if code := intent.CodeOf(err); code != intent.CodeNotYetKnown && code != intent.CodeDatabaseUnavailable {
			t.Errorf("%s: %v", what, err)
		}
	}
	for table, rows := range map[string]int{"decisions": 0, "consents": 0, "egress_rules": 0, "budgets": 0, "policy_changes": 0, "policy_sets": 0} {
		var n int
		if err := e.pool.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil || n != rows {
			t.Errorf("%s: %d rows, %v", table, n, err)
		}
	}
}

func TestWhatIsNotThereIsSaidNotToBe(t *testing.T) {
	t.Parallel()
	e, _, _, _ := held(t)
	ada := Decider{Principal: "ada"}
	for code, err := range map[intent.Code]error{
		intent.CodeIntentNotFound:     second(e.Confirm(t.Context(), intent.ID{1}, ada)),
		intent.CodePoliciesNotFound:   second(e.Policies(t.Context(), strings.Repeat("g", 100_000))),
		intent.CodeBudgetNotFound:     second(e.BudgetChanges(t.Context(), "00000000-0000-0000-0000-000000000000")),
		intent.CodeEgressRuleNotFound: second(e.RemoveEgress(t.Context(), EgressSubject{DataClass: "contact", Provider: "mailer"}, ada)),
	} {
		if intent.CodeOf(err) != code || len(err.Error()) > 400 {
			t.Errorf("%.400v, want %s", err, code)
		}
	}
	if list, err := e.Budgets(t.Context(), "globex", true); err != nil || len(list) != 0 {
		t.Errorf("%+v, %v", list, err)
	}
}
