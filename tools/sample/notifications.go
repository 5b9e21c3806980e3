package sample

import "writ/tools"

// sendSpec leaves Idempotent false: the provider ignores keys, so a message whose answer
// was lost is never sent again.
var sendSpec = tools.Spec{
	Name: "notifications.send", Category: "notifications", Description: "Send a message: recipient, body. The provider ignores idempotency keys.",
	Provider: Provider, SideEffectful: true, Retryable: true, Timeout: timeout,
	InputSchema: sendPayload,
}

var sendMembers = members{
	"recipient": text(320),
	"body":      text(64 << 10),
	"subject":   text(255),
}

var sendPayload = payloadOf(sendMembers, "recipient", "body")
