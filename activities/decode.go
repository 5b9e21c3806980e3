package activities

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"writ/intent"
)

// The members of an input and of what is in it: the names in the json tags, exactly.
var (
	inputMembers      = []string{"intent_id", "request", "refused", "traceparent"}
	requestMembers    = []string{"tool", "request_key", "payload", "payload_ref", "context", "detached"}
	contextMembers    = []string{"principal", "tenant", "authentication_source", "roles", "on_behalf_of", "service", "session_hash", "process", "run", "host_binding", "risk"}
	payloadRefMembers = []string{"digest", "size"}
)

// plainInput is Input as encoding/json reads it, which takes a member in any case, and the
// last one of several.
type plainInput Input

// ReadInput reads the input of a workflow, as whoever started it wrote it. Names are exact,
// as in every other request: two readers must not see two principals in one text. An input
// that has a defect is read all the same, to its Defect and, if it can be, its id: the
// workflow rejects it with its code, where an error would have none.
//
// The payload is not looked into; its errors count from its own first byte.
func ReadInput(text []byte) Input {
	var in plainInput
	err := checkInput(text)
	if err == nil {
		err = kindError(json.Unmarshal(text, &in))
	}
	if err == nil && in.Refused < 0 {
		err = intent.Errorf(intent.CodeInvalidRequest, "refused is %d; say the generation that was seen refused, or leave it out", in.Refused)
	}
	if err == nil && in.IntentID.IsZero() {
		err = intent.Errorf(intent.CodeInvalidRequest, "the input names no intent_id; derive it from tenant and request key")
	}
	if err != nil {
		return Input{IntentID: idIn(text), Defect: defect(err)}
	}
	return Input(in)
}

// UnmarshalJSON is ReadInput.
func (in *Input) UnmarshalJSON(text []byte) error {
	*in = ReadInput(text)
	return nil
}

// checkInput checks the names of all members, and that what is not the payload is exact.
func checkInput(b []byte) error {
	input, err := envelope(intent.Value{Raw: b}, "input", inputMembers, "request")
	if err != nil {
		return err
	}
	request, err := envelope(input["request"], "request", requestMembers, "context", "payload_ref", "payload")
	if err != nil {
		return err
	}
	if _, err := envelope(request["context"], "context", contextMembers); err != nil {
		return err
	}
	_, err = envelope(request["payload_ref"], "payload_ref", payloadRefMembers)
	return err
}

// envelope reads an object that may be absent and checks the members that are not read
// apart.
func envelope(v intent.Value, what string, members []string, apart ...string) (intent.Envelope, error) {
	if v.IsAbsent() {
		return nil, nil
	}
	e, err := intent.ReadEnvelope(v, what, members)
	if err != nil {
		return nil, err
	}
	for _, member := range members {
		if v := e[member]; !v.IsAbsent() && !slices.Contains(apart, member) {
			if err := v.Check(); err != nil {
				return nil, err
			}
		}
	}
	return e, nil
}

// kindError gives encoding/json's complaint about a value of the wrong kind its code.
func kindError(err error) error {
	var kind *json.UnmarshalTypeError
	switch {
	case err == nil || intent.CodeOf(err) != "":
		return err
	case errors.As(err, &kind):
		return intent.Errorf(intent.CodeInvalidRequest, "the member %q of the input is a %s; send a %s", strings.ToLower(kind.Field), kind.Value, kind.Type)
	}
	return intent.Errorf(intent.CodeInvalidRequest, "the input cannot be read: %w; see the contract of tool.execute", err)
}

func defect(err error) *Rejection {
	var e *intent.Error
	if !errors.As(err, &e) {
		e = intent.Errorf(intent.CodeInvalidRequest, "the input cannot be read: %w", err)
	}
	return &Rejection{Code: e.Code, Message: storable(e.Message, maxRejection), Offset: e.Offset}
}

// idIn is the intent's id in an input that has a defect; zero if there is none to be read.
func idIn(b []byte) intent.ID {
	var in struct {
		IntentID intent.ID `json:"intent_id"`
	}
	if err := json.Unmarshal(b, &in); err != nil {
		return intent.ID{}
	}
	return in.IntentID
}
