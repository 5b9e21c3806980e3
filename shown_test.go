package writ

import (
	"encoding/json"
	"strings"
	"testing"

	"writ/intent"
	"writ/tools"
)

func TestNoViewShowsWhatTheInputSchemaMarksWriteOnlyAlsoOfWhatIsEnqueued(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	spec := tools.Spec{Name: "vault.store", SideEffectful: true, InputSchema: json.RawMessage(`{"type":"object","properties":{"pin":{"writeOnly":true}}}`)}
	p := e.propose(t, spec, "other")
	secret := capture
	secret.Tool, secret.Payload = spec.Name, []byte(`{"pin":"CANARY4711"}`)
	enqueued := e.enqueued(t, secret, EnqueueOptions{})
	p.Payload = secret.Payload
	e.insert(t, p.Bound())
	for name, id := range map[string]intent.ID{"enqueued": enqueued.ID, "an intent": p.ID()} {
		for range 2 { // the second time its spec is known
			v, err := e.Get(t.Context(), id)
			if err != nil || string(v.Payload) != `{"pin":"***"}` || strings.Join(v.Masked, " ") != "/pin" {
				t.Errorf("%s: %s, masked %v, %v", name, v.Payload, v.Masked, err)
			}
		}
	}
}
