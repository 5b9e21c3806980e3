package activities_test

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
)

// looser are ways in which a caller could hope to be let through, by the field that they use; nil
// where another value asks for something else, or as somebody else.
var looser = map[string][]func(*activities.Request){
	"Request.Tool":       nil,
	"Request.Payload":    nil,
	"Request.Context":    nil, // field by field, below
	"Request.RequestKey": {func(r *activities.Request) { r.RequestKey = "another-key" }},
	"Request.PayloadRef": {func(r *activities.Request) { r.PayloadRef = &outbox.PayloadRef{} }},
	"Request.Detached":   {detached},

	"EffectContext.Principal": nil,
	"EffectContext.Tenant":    nil,
	"EffectContext.AuthenticationSource": {
		func(r *activities.Request) { r.Context.AuthenticationSource = "mtls" },
		func(r *activities.Request) { r.Context.AuthenticationSource = "" },
	},
	"EffectContext.Roles": {func(r *activities.Request) { r.Context.Roles = []string{"admin", "writ:operator"} }},
	"EffectContext.OnBehalfOf": {
		func(r *activities.Request) { r.Context.OnBehalfOf = []string{"ada"} }, // who has consented
		func(r *activities.Request) { r.Context.OnBehalfOf = []string{"writ:policy"} },
	},
	"EffectContext.Service":     {func(r *activities.Request) { r.Context.Service = "writ" }},
	"EffectContext.SessionHash": {func(r *activities.Request) { r.Context.SessionHash = "development" }},
	"EffectContext.Process":     {func(r *activities.Request) { r.Context.Process = "development" }},
	"EffectContext.Run":         {func(r *activities.Request) { r.Context.Run = "development" }},
	"EffectContext.HostBinding": {func(r *activities.Request) { r.Context.HostBinding = "localhost" }},
	"EffectContext.Risk": {
		func(r *activities.Request) { r.Context.Risk = 0 },
		func(r *activities.Request) { r.Context.Risk = -1 },
	},
}

// A field that a caller is given has to be in the list above: somebody has thought of it.
func TestNoFieldOfARequestLoosensARule(t *testing.T) {
	t.Parallel()
	for _, of := range []any{activities.Request{}, intent.EffectContext{}} {
		kind := reflect.TypeOf(of)
		for i := range kind.NumField() {
			if _, listed := looser[kind.Name()+"."+kind.Field(i).Name]; kind.Field(i).IsExported() && !listed {
				t.Errorf("nobody has tried to get past a rule with %s.%s", kind.Name(), kind.Field(i).Name)
			}
		}
	}
	b, world := gatedOutbox(t)
	for _, rule := range breaches {
		if rule.before != nil || rule.wait != nil || rule.code == intent.CodeUnauthenticated {
			continue // those are about another behaviour, another request, or what people did
		}
		for field, ways := range looser {
			for _, way := range ways {
				s := b.scene(t, world)
				b.consent(t, s.tenant, "ada", true)
				way(&s.request)
				answers := s.answers(t, rule)
				refused := len(answers) == 1 && (answers[0] == rule.code || answers[0] == intent.CodeInvalidRequest || answers[0] == intent.CodeSystemPrincipal || answers[0] == intent.CodeInvalidPayload)
				if !refused {
					t.Errorf("with %s %s is answered with %q", field, rule.code, answers)
				}
			}
		}
	}
	if len(world.asked()) != 0 {
		t.Errorf("the provider was asked %d times", len(world.asked()))
	}
}

// What a raw start says beside the contract is refused, and not read past.
func TestARawStartCannotNameWhatOnlyAWorkerHas(t *testing.T) {
	t.Parallel()
	in := ask("payments.capture")
	whole, err := json.Marshal(in)
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range []string{"development", "gates", "consents", "data_classes", "decision", "allow", "approvers", "confirmed", "max_risk", "budget", "proven"} {
		for _, object := range []string{`{"intent_id"`, `{"tool"`, `{"principal"`} {
			text := strings.Replace(string(whole), object, `{"`+member+`":true,`+object[1:], 1)
			if read := activities.ReadInput([]byte(text)); read.Defect == nil || read.Defect.Code != intent.CodeUnknownMember {
				t.Errorf("%s: %+v", text, read.Defect)
			}
		}
	}
}
