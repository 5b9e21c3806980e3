package activities

import (
	"bytes"
	"context"
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

func TestTheKnownMembersAreThoseOfTheContract(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		of    reflect.Type
		known []string
	}{
		{reflect.TypeFor[Input](), inputMembers}, {reflect.TypeFor[Request](), requestMembers},
		{reflect.TypeFor[intent.EffectContext](), contextMembers}, {reflect.TypeFor[outbox.PayloadRef](), payloadRefMembers},
	} {
		var members []string
		for _, f := range reflect.VisibleFields(c.of) {
			if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); f.IsExported() && name != "-" {
				members = append(members, name)
			}
		}
		if !slices.Equal(members, c.known) {
			t.Errorf("%s has the members %q, and %q are known", c.of, members, c.known)
		}
	}
}

// decode is what the SDK does with a workflow's input.
func decode(t *testing.T, text string) Input {
	t.Helper()
	var in Input
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		t.Fatalf("%.200s: %v", text, err)
	}
	return in
}

func TestAnInputSurvivesItsWayThroughTemporal(t *testing.T) {
	t.Parallel()
	ref := outbox.PayloadRef{Digest: intent.SpecDigest([]byte("{}")), Size: 70_000}
	for name, in := range map[string]Input{
		"a request": {IntentID: intent.ID{1}, Traceparent: "00-01", Request: &Request{
			Tool: "echo", RequestKey: "<&>", Payload: json.RawMessage(`{"a":"\u003c"}`), Detached: true,
			Context: intent.EffectContext{
				Principal: "p", Tenant: "t", AuthenticationSource: "direct", Roles: []string{"clerk", "finance"}, OnBehalfOf: []string{"q"}, Service: "s", SessionHash: "h", Process: "x", Run: "r", HostBinding: "b",
			},
		}},
		"a reference":  {IntentID: intent.ID{1}, Request: &Request{Tool: "echo", RequestKey: "k", PayloadRef: &ref}},
		"from the row": {IntentID: intent.ID{2}},
	} {
		encoded, err := json.Marshal(in)
		if err != nil {
			t.Fatal(err)
		}
		if out := decode(t, string(encoded)); !reflect.DeepEqual(out, in) {
			t.Errorf("%s: %s became %+v", name, encoded, out)
		}
	}
}

// An error would have no code, and Temporal would try the same text for ever.
func TestAnInputThatIsNotExactIsDecodedWithItsDefect(t *testing.T) {
	t.Parallel()
	id := intent.IntentID("acme", "order-1")
	const front = `{"intent_id":"`
	base := front + id.String() + `",`
	request := func(members string) string { return base + `"request":{` + members + `}}` }
	at := int64(len(base) + len(`"request":{`))
	for text, want := range map[string]struct {
		code   intent.Code
		offset int64
	}{
		base + `"Request":{}}`:                                         {intent.CodeUnknownMember, int64(len(base))},
		base + `"request":{},"request":{}}`:                            {intent.CodeDuplicateMember, int64(len(base) + 13)},
		base + `"request":[]}`:                                         {intent.CodeInvalidRequest, int64(len(base) + 10)},
		base + `"decision":{"allow":true}}`:                            {intent.CodeUnknownMember, int64(len(base))},
		base + `"decided_again":1}`:                                    {intent.CodeUnknownMember, int64(len(base))},
		request(`"decision":{"allow":true}`):                           {intent.CodeUnknownMember, at},
		base + `"refused":-1}`:                                         {intent.CodeInvalidRequest, -1},
		base + `"refused":"1"}`:                                        {intent.CodeInvalidRequest, -1},
		base + `"refused":1.5}`:                                        {intent.CodeInvalidRequest, -1},
		base + `"refused":9223372036854775808}`:                        {intent.CodeInvalidRequest, -1},
		base + `"refused":1e400}`:                                      {intent.CodeInvalidRequest, -1},
		base + `"traceparent":5}`:                                      {intent.CodeInvalidRequest, -1},
		base + `"traceparent":"\ud800"}`:                               {intent.CodeLoneSurrogate, int64(len(base) + 15)},
		request(`"tool":"echo","Tool":"payments.capture"`):             {intent.CodeUnknownMember, at + 14},
		request(`"tool":"echo","tool":"payments.capture"`):             {intent.CodeDuplicateMember, at + 14},
		request(`"tool":"echo","key":"k"`):                             {intent.CodeUnknownMember, at + 14},
		request(`"tool":{"name":"echo"}`):                              {intent.CodeInvalidRequest, -1},
		request("\"tool\":\"\xff\""):                                   {intent.CodeInvalidUTF8, at + 8},
		request(`"detached":"yes"`):                                    {intent.CodeInvalidRequest, -1},
		request(`"context":{"principal":"ada","Principal":"mallory"}`): {intent.CodeUnknownMember, at + 29},
		request(`"context":{"principal":"ada","principal":"mallory"}`): {intent.CodeDuplicateMember, at + 29},
		request(`"payload_ref":{"digest":"00","size":1}`):              {intent.CodeInvalidRequest, -1},
		request(`"payload_ref":{"digest":null,"Size":1}`):              {intent.CodeUnknownMember, at + 29},
	} {
		in := decode(t, text)
		if in.IntentID != id || in.Request != nil || in.Defect == nil || in.Defect.Code != want.code || in.Defect.Offset != want.offset {
			t.Errorf("%s: %+v, defect %+v", text, in, in.Defect)
		}
	}
	for _, text := range []string{`[]`, `"x"`, `7`, `{"intent_id":"x"}`, `{"intent_id":7}`} {
		if in := decode(t, text); !in.IntentID.IsZero() || in.Defect == nil {
			t.Errorf("%s: %+v", text, in)
		}
	}
}

func TestNobodyCanInventADefect(t *testing.T) {
	t.Parallel()
	in := decode(t, `{"intent_id":"`+intent.IntentID("acme", "order-1").String()+`","request":{"tool":"echo"},"defect":{"code":"applied_ok","message":"hi","offset":0}}`)
	if in.Defect == nil || in.Defect.Code != intent.CodeUnknownMember || in.Request != nil {
		t.Errorf("%+v", in)
	}
}

func TestATextThatIsNoJSONIsReadToItsDefect(t *testing.T) {
	t.Parallel()
	id := `{"intent_id":"` + intent.IntentID("acme", "order-1").String() + `"`
	for text, want := range map[string]intent.Code{
		"": intent.CodeInvalidRequest, "{": intent.CodeInvalidJSON, "NaN": intent.CodeInvalidJSON, id + "} {}": intent.CodeTrailingData,
		"null": intent.CodeInvalidRequest, "[]": intent.CodeInvalidRequest, "{}": intent.CodeInvalidRequest,
		id + `,"request":{"payload":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}}`: intent.CodeTooDeep,
	} {
		if in := ReadInput([]byte(text)); in.Defect == nil || in.Defect.Code != want {
			t.Errorf("%.60s: %+v, want %s", text, in.Defect, want)
		}
	}
}

// The corpus at the door of somebody who starts the workflow without Writ's client, as far
// as it is JSON that Temporal's converter takes. A larger payload goes by reference.
func TestTheCorpusIsReadFromInputsAsItSays(t *testing.T) {
	t.Parallel()
	hosts := func(spec tools.Spec) tools.Tool {
		return tools.New(spec, func(context.Context, tools.Invocation) (tools.Result, error) { return tools.Result{}, nil })
	}
	registry, err := tools.NewRegistry(hosts(tools.Spec{Name: intake.ToolAny}),
		hosts(tools.Spec{Name: intake.ToolObject, InputSchema: json.RawMessage(intake.ObjectSchema)}))
	if err != nil {
		t.Fatal(err)
	}
	a := New(Config{Registry: registry, TaskQueue: "writ"})
	ran := 0
	for _, c := range intake.Cases(t) {
		text := `{"intent_id":"` + intent.IntentID("default", "k").String() + `","request":{"tool":"` + c.Tool() + `","payload":` + string(c.Input) +
			`,"request_key":"k","context":{"tenant":"default","principal":"intake"}}}`
		if c.Door != intake.DoorPayload || len(c.Input) > intent.MaxInline || !json.Valid([]byte(text)) {
			continue
		}
		ran++
		// The converter's value begins where the whitespace before it ends.
		before := int64(len(c.Input) - len(bytes.TrimLeft(c.Input, " \t\r\n")))
		r, err := a.accepted(t.Context(), decode(t, text))
		var e *intent.Error
		switch {
		case c.Code == "" && (err != nil || string(r.Payload) != string(c.Canonical)):
			t.Errorf("%s: %+v, %v", c.Name, r, err)
		case c.Code != "" && (!errors.As(err, &e) || string(e.Code) != c.Code || e.Offset != max(c.Offset-before, -1)):
			t.Errorf("%s: %v (%+v), want %s at byte %d", c.Name, err, e, c.Code, c.Offset)
		}
	}
	if ran < 100 {
		t.Errorf("only %d cases ran", ran)
	}
}
