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

// The same message for advertising: it needs what the gates are asked about.
var newsletterSpec = tools.Spec{
	Name: "newsletters.send", Category: "notifications", Description: "Send advertising, with consent: recipient, body. The provider ignores idempotency keys.",
	InputSchema: sendPayload, Consents: []string{"marketing"}, DataClasses: []string{"contact"},
}
