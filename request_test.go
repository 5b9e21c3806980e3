package writ

import (
	"errors"
	"strings"
	"testing"

	"writ/intent"
)

func TestARequestIsCheckedBeforeAnyIO(t *testing.T) {
	t.Parallel()
	good := Request{Tool: "payments.capture", RequestKey: "order-4711", Principal: "till-7", Payload: []byte(`{}`)}
	for name, tc := range map[string]struct {
		change func(*Request)
		code   intent.Code
	}{
		"no principal":           {func(r *Request) { r.Principal = "" }, intent.CodeUnauthenticated},
		"no tool":                {func(r *Request) { r.Tool = "" }, intent.CodeInvalidName},
		"a tool with a space":    {func(r *Request) { r.Tool = "payments capture" }, intent.CodeInvalidName},
		"a tenant with a NUL":    {func(r *Request) { r.Tenant = "acme\x00" }, intent.CodeInvalidName},
		"a principal with a tab": {func(r *Request) { r.Principal = "till\t7" }, intent.CodeInvalidName},
		"a service in Cyrillic":  {func(r *Request) { r.Service = "касса" }, intent.CodeInvalidName},
		"a process with a space": {func(r *Request) { r.Process = "order flow" }, intent.CodeInvalidName},
		"a run that ends in dot": {func(r *Request) { r.Run = "run." }, intent.CodeInvalidName},
		"a key of Writ's own":    {func(r *Request) { r.RequestKey = "writ:auto:x" }, intent.CodeReservedRequestKey},
		"a key too long":         {func(r *Request) { r.RequestKey = strings.Repeat("k", 256) }, intent.CodeInvalidRequestKey},
		"a payload of no kind":   {func(r *Request) { r.Payload = []byte("amount=1") }, intent.CodeInvalidJSON},
		"a payload with a twin":  {func(r *Request) { r.Payload = []byte(`{"a":1,"\u0061":2}`) }, intent.CodeDuplicateMember},
		"a list as payload":      {func(r *Request) { r.Payload = []byte(`[]`) }, intent.CodePayloadNotObject},
		"a payload over 1 MiB": {func(r *Request) { r.Payload = []byte(`{"a":"` + strings.Repeat("<", 1<<20) + `"}`) },
			intent.CodePayloadTooLarge},
	} {
		r := good
		tc.change(&r)
		_, err := r.prepare(false, intent.MaxPayload)
		var e *Error
		if !errors.As(err, &e) || e.Code != tc.code || e.Effect != intent.NotApplied || e.TryAgain || e.Message == "" {
			t.Errorf("%s: %v, want code %s", name, err, tc.code)
		}
	}
}

func TestAMintedKeyJoinsItsOwnIntent(t *testing.T) {
	t.Parallel()
	key, err := NewRequestKey()
	if err != nil {
		t.Fatal(err)
	}
	r := Request{Tool: "echo", Principal: "till-7", RequestKey: string(key)}
	p, err := r.prepare(false, intent.MaxPayload)
	if err != nil || p.id != intent.IntentID(DefaultTenant, key) {
		t.Errorf("%s: %s, %v", key, p.id, err)
	}
}

func TestWhatARequestLeavesOutHasItsDefault(t *testing.T) {
	t.Parallel()
	p, err := Request{Tool: "echo", RequestKey: " order 4711 ", Principal: "till-7"}.prepare(true, intent.MaxPayload)
	if err != nil {
		t.Fatal(err)
	}
	c := p.request.Context
	if c.Tenant != "default" || c.Principal != "till-7" || c.AuthenticationSource != intent.AuthenticatedDirect || c.Service != "" {
		t.Errorf("%+v", c)
	}
	if string(p.request.Payload) != "{}" || !p.request.Detached || p.request.RequestKey != " order 4711 " {
		t.Errorf("%+v", p.request)
	}
	if p.id != intent.IntentID("default", " order 4711 ") {
		t.Errorf("id %s", p.id)
	}
}

func TestARequestWithoutAKeyIsAnActionOfItsOwn(t *testing.T) {
	t.Parallel()
	r := Request{Tool: "echo", Principal: "till-7"}
	first, err := r.prepare(false, intent.MaxPayload)
	if err != nil {
		t.Fatal(err)
	}
	second, err := r.prepare(false, intent.MaxPayload)
	if err != nil {
		t.Fatal(err)
	}
	if first.id == second.id || !strings.HasPrefix(string(first.request.RequestKey), intent.ReservedPrefix) {
		t.Errorf("%s and %s", first.request.RequestKey, second.request.RequestKey)
	}
	if err := intent.CheckRequestKey(string(first.request.RequestKey)); err != nil {
		t.Errorf("the workflow will refuse it: %v", err)
	}
}

func TestThePayloadIsCanonicalWhereverItGoes(t *testing.T) {
	t.Parallel()
	p, err := Request{Tool: "echo", Principal: "till-7", Payload: []byte(` {"b":1.0,"a":"\u003c"} `)}.prepare(false, intent.MaxPayload)
	if err != nil || string(p.request.Payload) != `{"a":"<","b":1}` {
		t.Errorf("%s, %v", p.request.Payload, err)
	}
}
