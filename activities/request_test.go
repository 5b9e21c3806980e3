package activities

import (
	"encoding/json"
	"strings"
	"testing"

	"writ/intent"
)

func TestTheEscapedSizeIsTheOneThatTemporalCarries(t *testing.T) {
	t.Parallel()
	for _, payload := range []string{`{}`, `{"a":"<b>&amp;"}`, "{\"a\":\"\u2028\u2029 é\"}"} {
		carried, err := json.Marshal(json.RawMessage(payload))
		if err != nil || len(carried) != escapedSize([]byte(payload)) {
			t.Errorf("%s: %d bytes counted, %d carried (%v)", payload, escapedSize([]byte(payload)), len(carried), err)
		}
	}
}

func TestALegalPayloadMayGrowByEscapesOnItsWay(t *testing.T) {
	t.Parallel()
	payload := json.RawMessage(`{"a":"` + strings.Repeat("\u2039", 300_000) + `"}`)
	arrived := json.RawMessage(`{"a":"` + strings.Repeat(`\u2039`, 300_000) + `"}`)
	r := Request{Tool: "echo", RequestKey: "order-1", Payload: arrived, Context: intent.EffectContext{Tenant: "acme", Principal: "till-7"}}
	got, err := r.Canonical(0)
	if err != nil || string(got.Payload) != string(payload) {
		t.Errorf("%d bytes, %v", len(got.Payload), err)
	}
	r.Payload = json.RawMessage(`{"a":"` + strings.Repeat("<", 500_000) + `"}`)
	if _, err := r.Canonical(0); intent.CodeOf(err) != intent.CodePayloadTooLarge {
		t.Errorf("too much to escape: %v", err)
	}
}

func TestARejectionFitsIntoAnEvent(t *testing.T) {
	t.Parallel()
	in := Input{Request: &Request{Tool: strings.Repeat("t", 3<<20)}}
	p, err := rejected(Progress{}, in, intent.Errorf(intent.CodeInvalidPayload, "%s", strings.Repeat("m", 3<<20)))
	encoded, _ := json.Marshal(p)
	if err != nil || p.Step.Kind != StepReject || len(encoded) > 4000 {
		t.Errorf("%d bytes, %v", len(encoded), err)
	}
}
