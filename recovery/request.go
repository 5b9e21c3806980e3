package recovery

import (
	"bytes"
	"encoding/json"
	"errors"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
)

// requestOf is the request of a row, as its host made it. The error is of a row that was changed
// since, by hand: no worker could make an intent of it, however often it is tried.
func requestOf(due outbox.Due) (activities.Request, error) {
	request := activities.Request{Tool: due.Action.Tool, RequestKey: due.RequestKey, Payload: due.Action.Payload, Detached: true}
	err := json.Unmarshal(due.EffectContext, &request.Context)
	if err == nil {
		err = agrees(due, request)
	}
	if err == nil {
		return request, nil
	}
	why := asError(err, intent.CodeInvalidRequest)
	return activities.Request{}, intent.Errorf(why.Code,
		"the row of the enqueued request was changed since it was enqueued: %s; `writ enqueued drop %s` takes it back, then enqueue it again under a new key", why.Message, due.ID)
}

// agrees is what the row says against itself. Whether tool, principal and payload are those that
// were enqueued, the worker finds by the fingerprint.
func agrees(due outbox.Due, request activities.Request) error {
	if err := request.Check(); err != nil {
		return err
	}
	if request.Context.Tenant != due.Action.Tenant || request.Context.Principal != due.Action.Principal {
		return errors.New("its effect context is of another tenant or principal")
	}
	if derived := intent.IntentID(due.Action.Tenant, due.RequestKey); derived != due.ID {
		return intent.Errorf(intent.CodeIntentIDMismatch, "its tenant and request key make intent %s", derived)
	}
	canonical, err := intent.CanonicalPayload(due.Action.Payload, 6*len(due.Action.Payload)) // it is never longer, see intent.Canonicalize
	if err == nil && !bytes.Equal(canonical, due.Action.Payload) {
		err = errors.New("its payload is not in canonical form")
	}
	return err
}
