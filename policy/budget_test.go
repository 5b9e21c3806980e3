package policy

import (
	"errors"
	"strings"
	"testing"

	"writ/intent"
)

func TestAnAmountIsCountedExactlyOrNotAtAll(t *testing.T) {
	t.Parallel()
	for payload, want := range map[string]Money{
		`{"amount":"12.90","currency":"EUR"}`:                 {Amount: "12.90", Currency: "EUR"},
		`{"amount":0,"currency":"EUR"}`:                       {Amount: "0", Currency: "EUR"},
		`{"amount":9007199254740993,"currency":"usd"}`:        {Amount: "9007199254740993", Currency: "usd"},
		`{"currency":"EUR"}`:                                  {Currency: "EUR", Problem: "no amount at /amount"},
		`{"amount":null,"currency":"EUR"}`:                    {Currency: "EUR", Problem: "no amount at /amount"},
		`{"amount":{"value":1},"currency":"EUR"}`:             {Currency: "EUR", Problem: "no amount at /amount"},
		`{"amount":"-1","currency":"EUR"}`:                    {Amount: "-1", Currency: "EUR", Problem: "no decimal of zero or more"},
		`{"amount":"NaN","currency":"EUR"}`:                   {Amount: "NaN", Currency: "EUR", Problem: "no decimal of zero or more"},
		`{"amount":"1,00","currency":"EUR"}`:                  {Amount: "1,00", Currency: "EUR", Problem: "no decimal of zero or more"},
		`{"amount":1e+30,"currency":"EUR"}`:                   {Amount: "1e+30", Currency: "EUR", Problem: "no decimal of zero or more"},
		`{"amount":"0.0000000000000000001","currency":"EUR"}`: {Amount: "0.0000000000000000001", Currency: "EUR", Problem: "18 behind the point"},
		`{"amount":"1.00"}`:                                   {Amount: "1.00", Problem: "no currency at /currency"},
	} {
		got := MoneyOf([]byte(payload), "/amount", "/currency")
		if got.Amount != want.Amount || got.Currency != want.Currency || (got.Problem == "") != (want.Problem == "") || !strings.Contains(got.Problem, want.Problem) {
			t.Errorf("%s: %+v, want %+v", payload, *got, want)
		}
	}
	if got := MoneyOf([]byte(`{"amount":"1"}`), "", ""); got != nil {
		t.Errorf("a tool without an amount costs %+v", got)
	}
	if got := MoneyOf([]byte(`{"amount":"1"}`), "/amount", ""); *got != (Money{Amount: "1"}) {
		t.Errorf("a tool without a currency costs %+v", got)
	}
}

func TestOnlyABudgetsNoIsADenial(t *testing.T) {
	t.Parallel()
	d, ok := OverBudget(intent.Errorf(intent.CodeBudgetExceeded, "nothing is left"))
	if !ok || d.Allow || d.Policy != "writ" || d.Code != intent.CodeBudgetExceeded || d.Reason != "nothing is left" {
		t.Errorf("%+v, %v", d, ok)
	}
	for _, err := range []error{nil, errors.New("no answer"), intent.Errorf(intent.CodeDatabaseUnavailable, "no answer")} {
		if d, ok := OverBudget(err); ok {
			t.Errorf("%v became %+v", err, d)
		}
	}
}
