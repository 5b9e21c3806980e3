package sample

import "writ/tools"

// sendSpec leaves Idempotent false: the provider ignores keys, so a message whose answer
// was lost is never sent again.
var sendSpec = tools.Spec{
	Name: "notifications.send", Category: "notifications", Description: "Send a message: recipient, body. The provider ignores idempotency keys.",
	Provider: Provider, SideEffectful: true, Retryable: true, Timeout: timeout,
}

func checkSend(payload []byte) error {
	var p struct {
		Recipient required `json:"recipient"`
		Body      required `json:"body"`
		Subject   optional `json:"subject"`
	}
	return decode(payload, &p, "recipient", "body")
}
