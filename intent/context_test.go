package intent_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"writ/intent"
)

func TestAnEffectContextIsCanonicalAndLeavesOutWhatIsNotKnown(t *testing.T) {
	t.Parallel()
	for want, c := range map[string]intent.EffectContext{
		`{}`: {},
		`{"authentication_source":"direct","principal":"user:42","tenant":"acme"}`: {
			Principal: "user:42", Tenant: "acme", AuthenticationSource: intent.AuthenticatedDirect,
		},
		`{"on_behalf_of":["assistant","ada"],"principal":"agent-7","roles":["clerk","finance"]}`: {
			Principal: "agent-7", Roles: []string{"clerk", "finance"}, OnBehalfOf: []string{"assistant", "ada"},
		},
		`{"authentication_source":"a","host_binding":"b","principal":"c","process":"d","run":"e","service":"<f>&\u0001","session_hash":"g","tenant":"h"}`: {
			AuthenticationSource: "a", HostBinding: "b", Principal: "c", Process: "d", Run: "e",
			Service: "<f>&\x01", SessionHash: "g", Tenant: "h",
		},
	} {
		got := c.Canonical()
		if string(got) != want {
			t.Errorf("got  %s\nwant %s", got, want)
		}
		var back intent.EffectContext
		if err := json.Unmarshal(got, &back); err != nil || !reflect.DeepEqual(back, c) {
			t.Errorf("%s reads back as %+v, %v", got, back, err)
		}
	}
}
