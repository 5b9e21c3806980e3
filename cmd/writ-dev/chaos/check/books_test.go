package check

import (
	"strings"
	"testing"
)

func TestOfOneRequestTheLastLineCounts(t *testing.T) {
	t.Parallel()
	requests, err := ReadRequests(strings.NewReader(`{"id":"a","status":0}
{"id":"b","status":201}
{"id":"a","status":503}
`))
	if err != nil || len(requests) != 2 || requests[0].Status != 503 || requests[1].ID != "b" {
		t.Errorf("got %+v, %v", requests, err)
	}
}

func TestATornLedgerIsNoEvidence(t *testing.T) {
	t.Parallel()
	whole := `{"endpoint":"/v1/payments/capture","key":"k","body":{"payment_id":"pay-1"}}` + "\n"
	effects, err := ReadLedger(strings.NewReader(whole))
	if err != nil || len(effects) != 1 || effects[0].mark() != "pay-1" {
		t.Errorf("got %+v, %v", effects, err)
	}
	if _, err := ReadLedger(strings.NewReader(whole + whole[:20])); err == nil {
		t.Error("a ledger that ends in the middle of a line was read")
	}
}
