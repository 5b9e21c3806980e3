package writ

import "writ/intent"

// requestMembers are the names that a request's JSON may have.
var requestMembers = []string{"tool", "payload", "request_key", "tenant", "principal", "roles", "on_behalf_of", "service", "process", "run", "risk"}

// ParseRequest reads a whole request from JSON: an object with the members tool, payload,
// request_key, tenant, principal, roles, on_behalf_of, service, process, run and risk, each with
// the meaning of the field of Request. roles and on_behalf_of are arrays of strings, risk is a
// number, and all others but payload are strings; a member that is absent or null is as if
// the field were left empty, and one that is an empty string is an error, not an absent one.
//
// The JSON is taken exactly. A member of another name, also one that differs in case only, is
// unknown_member; a member that comes twice is duplicate_member; a value of the wrong kind is
// invalid_request. The payload is kept as it was sent and is read by Check, Submit or
// Execute. Offsets, also those of errors in the payload, count in src. src is not
// changed, and the request refers to it.
func ParseRequest(src []byte) (Request, error) {
	e, err := intent.ReadEnvelope(intent.Value{Raw: src}, "request", requestMembers)
	if err != nil {
		return Request{}, err
	}
	payload := e["payload"]
	r := Request{Payload: payload.Raw, payloadOffset: payload.Offset}
	for _, field := range []struct {
		member string
		read   func(string) (string, error)
		to     *string
	}{
		{"tool", e.Name, &r.Tool}, {"request_key", e.RequestKey, &r.RequestKey},
		{"tenant", e.Name, &r.Tenant}, {"principal", e.Name, &r.Principal},
		{"service", e.Name, &r.Service}, {"process", e.Name, &r.Process}, {"run", e.Name, &r.Run},
	} {
		if *field.to, err = field.read(field.member); err != nil {
			return Request{}, err
		}
	}
	for _, field := range []struct {
		member string
		to     *[]string
	}{{"roles", &r.Roles}, {"on_behalf_of", &r.OnBehalfOf}} {
		if *field.to, err = e.Names(field.member); err != nil {
			return Request{}, err
		}
	}
	r.Risk, err = e.Risk("risk")
	return r, err
}
