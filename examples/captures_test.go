// Package examples holds inputs for the commands, and the tests that keep them usable.
package examples

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"writ/intent"
)

type capture struct {
	RequestKey string          `json:"request_key"`
	Tool       string          `json:"tool"`
	Payload    json.RawMessage `json:"payload"`
}

type payment struct {
	PaymentID         string `json:"payment_id"`
	Amount            string `json:"amount"`
	Currency          string `json:"currency"`
	Description       string `json:"description"`
	MerchantReference string `json:"merchant_reference"`
}

func TestCapturesAreTwoHundredDifferentOnesThatTheEngineTakes(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("captures.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	amount := regexp.MustCompile(`^(0|[1-9][0-9]*)(\.[0-9]{2,3})?$`)
	// How many decimals the currencies have, where it is not two (ISO 4217).
	decimals := map[string]int{"JPY": 0, "KRW": 0, "VND": 0, "BHD": 3, "KWD": 3, "TND": 3}
	keys, payments, currencies := map[string]bool{}, map[string]bool{}, map[string]bool{}

	lines := bufio.NewScanner(bytes.NewReader(raw))
	for number := 1; lines.Scan(); number++ {
		var c capture
		decodeStrictly(t, number, lines.Bytes(), &c)
		var p payment
		decodeStrictly(t, number, c.Payload, &p)

		if err := intent.CheckRequestKey(c.RequestKey); err != nil {
			t.Errorf("line %d: %v", number, err)
		}
		if _, err := intent.CanonicalPayload(c.Payload, intent.MaxPayload); err != nil {
			t.Errorf("line %d: %v", number, err)
		}
		if c.Tool != "payments.capture" || p.PaymentID == "" || p.Description == "" || p.MerchantReference == "" {
			t.Errorf("line %d is not a whole capture: %s", number, lines.Text())
		}
		want, listed := decimals[p.Currency]
		if !listed {
			want = 2
		}
		if parts := amount.FindStringSubmatch(p.Amount); parts == nil || max(len(parts[2])-1, 0) != want {
			t.Errorf("line %d: amount %q is not a %s amount of %d decimals", number, p.Amount, p.Currency, want)
		}
		if keys[c.RequestKey] || payments[p.PaymentID] {
			t.Errorf("line %d repeats %s or %s", number, c.RequestKey, p.PaymentID)
		}
		keys[c.RequestKey], payments[p.PaymentID], currencies[p.Currency] = true, true, true
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	if len(keys) != 200 {
		t.Errorf("there are %d captures, want 200", len(keys))
	}
	if len(currencies) < 10 {
		t.Errorf("there are %d currencies, want variety", len(currencies))
	}
}

func decodeStrictly(t *testing.T, line int, raw []byte, into any) {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		t.Errorf("line %d: %v", line, err)
	}
}
