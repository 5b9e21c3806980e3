package sample

import "writ/tools"

var sendSpec = tools.Spec{
	Name: "notifications.send", Category: "notifications", Description: "Send a message: recipient, body. The provider ignores idempotency keys.",
	InputSchema: sendPayload,
}

var sendMembers = members{
	"recipient": text(320),
	"body":      text(64 << 10),
	"subject":   text(255),
}

var sendPayload = payloadOf(sendMembers, "recipient", "body")
