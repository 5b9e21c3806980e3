package invocation_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/internal/invocation"
)

func TestAnInvocationCannotBeChangedByWhoeverReceivesIt(t *testing.T) {
	t.Parallel()
	payload := []byte(`{"amount":"12.90"}`)
	fields := invocation.Fields{
		Tool: "payments.capture", Payload: payload, Context: intent.EffectContext{Principal: "till-7"},
		IdempotencyKey: "5f0c8f6a-0000-8000-8000-000000000000", Attempt: 2,
		Deadline: time.Unix(100, 0), SendBy: time.Unix(90, 0),
	}
	inv := invocation.New(fields)
	payload[2] = 'X'          // by the one who made it
	inv.Payload()[2] = 'Y'    // by the tool
	got := invocation.Fields{ // every field, as the tool sees it
		Tool: inv.Tool(), Payload: inv.Payload(), Context: inv.Context(), IdempotencyKey: intent.IdempotencyKey(inv.IdempotencyKey()),
		Attempt: inv.Attempt(), Deadline: inv.Deadline(), SendBy: inv.SendBy(),
	}
	fields.Payload = []byte(`{"amount":"12.90"}`)
	if !reflect.DeepEqual(got, fields) {
		t.Errorf("%+v, want %+v", got, fields)
	}
}

func TestAPayloadIsDecodedOrTheErrorSaysWhose(t *testing.T) {
	t.Parallel()
	inv := invocation.New(invocation.Fields{Tool: "payments.capture", Payload: []byte(`{"amount":"12.90"}`)})
	var good struct{ Amount string }
	if err := inv.Decode(&good); err != nil || good.Amount != "12.90" {
		t.Errorf("%+v, %v", good, err)
	}
	var bad struct{ Amount int }
	var mismatch *json.UnmarshalTypeError
	if err := inv.Decode(&bad); !errors.As(err, &mismatch) || !strings.Contains(err.Error(), "payments.capture") {
		t.Errorf("%v", err)
	}
}
