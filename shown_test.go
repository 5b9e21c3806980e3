package writ

import (
	"encoding/json"
	"strings"
	"testing"

	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

func TestNoViewShowsWhatTheInputSchemaMarksWriteOnlyAlsoOfWhatIsEnqueued(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	spec := tools.Spec{Name: "vault.store", SideEffectful: true, InputSchema: json.RawMessage(`{"type":"object","properties":{"pin":{"writeOnly":true}}}`)}
	raw, err := json.Marshal(spec.Publish())
	if err != nil {
		t.Fatal(err)
	}
	if err := e.store.PublishSpecs(t.Context(), []outbox.Spec{{Name: spec.Name, Digest: spec.Digest(), JSON: raw, TaskQueue: "canary"}}); err != nil {
		t.Fatal(err)
	}
	secret := capture
	secret.Tool, secret.Payload = spec.Name, []byte(`{"pin":"CANARY4711"}`)
	enqueued := e.enqueued(t, secret, EnqueueOptions{})
	p := outbox.Proposal{
		Tenant: DefaultTenant, RequestKey: "other", Principal: "till-7", Tool: spec.Name, TaskQueue: "canary", SpecDigest: spec.Digest(),
		Payload: secret.Payload, EffectContext: []byte(`{}`), Decision: []byte(`{"allow":true}`),
		IdempotencyKey: intent.DeriveKey(DefaultTenant, spec.Name, "other", 1), Rules: spec.Rules(),
	}.Bound()
	if _, err := e.store.Insert(t.Context(), p); err != nil {
		t.Fatal(err)
	}
	for name, id := range map[string]intent.ID{"enqueued": enqueued.ID, "an intent": p.ID()} {
		for range 2 { // the second time its spec is known
			v, err := e.Get(t.Context(), id)
			if err != nil || string(v.Payload) != `{"pin":"***"}` || strings.Join(v.Masked, " ") != "/pin" {
				t.Errorf("%s: %s, masked %v, %v", name, v.Payload, v.Masked, err)
			}
		}
	}
}
