package writ

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"writ/intent"
	"writ/internal/intake"
	"writ/outbox"
	"writ/tools"
)

func TestTheCorpusIsReadFromRequestsAsItSays(t *testing.T) {
	t.Parallel()
	for _, c := range intake.Cases(t) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			kept := string(c.Input)
			p, err := prepareCase(c)
			if err == nil && p.payload.FromText && !c.Schema {
				err = p.payload.NotObject()
			}
			if string(c.Input) != kept {
				t.Error("the input was changed")
			}
			if c.Code == "" {
				if err != nil || string(p.request.Payload) != string(c.Canonical) {
					t.Errorf("got %.200q, %v; want %.200q", p.request.Payload, err, c.Canonical)
				}
				return
			}
			var e *Error
			if !errors.As(err, &e) || string(e.Code) != c.Code || e.Offset != c.Offset || e.Effect != intent.NotApplied || e.TryAgain {
				t.Errorf("got %#v, want %s at byte %d", err, c.Code, c.Offset)
			}
		})
	}
}

func prepareCase(c intake.Case) (prepared, error) {
	r := Request{Tool: c.Tool(), Payload: c.Input, Principal: intake.Principal}
	if c.Door == intake.DoorRequest {
		var err error
		if r, err = ParseRequest(c.Input); err != nil {
			return prepared{}, err
		}
	}
	return r.prepare(false, intent.MaxPayload)
}

func TestARequestIsReadFromItsMembers(t *testing.T) {
	t.Parallel()
	r, err := ParseRequest([]byte(` {"tool":"payments.capture","payload": {"a":1.0} ,"request_key":"order 4711","tenant":"acme",
		"principal":"till-7","roles":["till","cashier"],"on_behalf_of":["ada"],"service":"shop","process":"checkout","run":"run-1"}`))
	want := Request{
		Tool: "payments.capture", Payload: []byte(`{"a":1.0}`), RequestKey: "order 4711", Tenant: "acme", Principal: "till-7",
		Roles: []string{"till", "cashier"}, OnBehalfOf: []string{"ada"}, Service: "shop", Process: "checkout", Run: "run-1", payloadOffset: 39,
	}
	if err != nil || !reflect.DeepEqual(r, want) {
		t.Errorf("%+v, %v", r, err)
	}
	r, err = ParseRequest([]byte(`{"tool":"echo","tenant":null}`))
	if err != nil || !reflect.DeepEqual(r, Request{Tool: "echo"}) {
		t.Errorf("%+v, %v", r, err)
	}
}

func TestEveryFieldOfARequestIsAMemberOfItsJSON(t *testing.T) {
	t.Parallel()
	words := map[string]string{"RequestKey": "request_key", "OnBehalfOf": "on_behalf_of"}
	var fields []string
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Request]()) {
		if !f.IsExported() {
			continue
		}
		word, ok := words[f.Name]
		if !ok {
			word = strings.ToLower(f.Name)
		}
		fields = append(fields, word)
	}
	members := slices.Clone(requestMembers)
	slices.Sort(fields)
	slices.Sort(members)
	if !slices.Equal(fields, members) {
		t.Errorf("fields %q, members %q", fields, members)
	}
}

func TestAMemberOfAnotherNameIsToldTheRightOne(t *testing.T) {
	t.Parallel()
	for src, says := range map[string]string{
		`{"Request_Key":"k"}`: `spelled "request_key"`,
		`{"arguments":{}}`:    "its members are tool, payload, request_key, tenant, principal, roles, on_behalf_of, service, process, run",
		`{"tool":[]}`:         "the tool is an array at byte 8; send a string",
		`[]`:                  "the request is an array at byte 0; send a JSON object",
	} {
		if _, err := ParseRequest([]byte(src)); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v does not say %q", src, err, says)
		}
	}
}

// Whether a tool takes an object inside a string is known from its published spec, before
// anything is started and before an intent is compared.
func TestAnObjectInAStringIsForAToolThatWantsAnObject(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	object := Request{Tool: "payments.capture", RequestKey: "order-1", Principal: "till-7", Payload: []byte(`{"a":1}`)}
	e.accept(t, object)
	text := object
	text.Payload = []byte(` "{\"a\":1.0}"`)
	_, err := e.Submit(t.Context(), text)
	var refused *Error
	if !errors.As(err, &refused) || refused.Code != intent.CodePayloadNotObject || refused.Offset != 1 || refused.Effect != intent.NotApplied {
		t.Errorf("no schema: %#v", err)
	}

	spec := tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true, InputSchema: json.RawMessage(intake.ObjectSchema)}
	published, err := json.Marshal(spec.Publish())
	if err != nil {
		t.Fatal(err)
	}
	err = e.store.PublishSpecs(t.Context(), []outbox.Spec{{Name: spec.Name, Digest: spec.Digest(), JSON: published, TaskQueue: "canary"}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := text.prepare(false, intent.MaxPayload)
	if err != nil {
		t.Fatal(err)
	}
	if at, err := e.find(t.Context(), p); err != nil || !at.found || at.row.ID != p.id {
		t.Errorf("the same action as an object: found %v, %v", at.found, err)
	}
	text.Payload = []byte(`"{\"a\":2}"`)
	if p, err = text.prepare(false, intent.MaxPayload); err != nil {
		t.Fatal(err)
	}
	if _, err := e.find(t.Context(), p); intent.CodeOf(err) != intent.CodeIdempotencyConflict {
		t.Errorf("another action: %v", err)
	}
	text.Tool = "payments.captures"
	if _, err := e.Submit(t.Context(), text); intent.CodeOf(err) != intent.CodeUnknownTool {
		t.Errorf("no such tool: %v", err)
	}
	if len(e.temporal.started) > 0 {
		t.Errorf("%d workflows were started", len(e.temporal.started))
	}
}

func TestARequestCannotNameWhatOnlyAWorkerHas(t *testing.T) {
	t.Parallel()
	for _, member := range []string{"development", "gates", "consents", "data_classes", "decision", "allow", "approvers", "confirmed", "max_risk", "budget", "authentication_source"} {
		if _, err := ParseRequest([]byte(`{"tool":"echo","` + member + `":true}`)); intent.CodeOf(err) != intent.CodeUnknownMember {
			t.Errorf("%s: %v", member, err)
		}
	}
}
