package sample

import (
	"encoding/json"

	"writ/tools"
)

var captureSpec = tools.Spec{
	Name: "payments.capture", Category: "payments", Description: "Capture an authorized payment: payment_id, amount, currency.",
	InputSchema: capturePayload, OutputSchema: captureAnswer, Stake: tools.Stake{Amount: "/amount", Currency: "/currency"},
}

var captureMembers = members{
	"payment_id":         identifier,
	"amount":             amount,
	"currency":           currency,
	"description":        text(1000),
	"merchant_reference": text(255),
}

var capturePayload = payloadOf(captureMembers, "payment_id", "amount", "currency")

// captureAnswer is what the provider answers. It leaves room for more members: a provider
// adds some without asking.
var captureAnswer = json.RawMessage(`{
	"type": "object",
	"required": ["id", "status", "payment_id", "amount", "currency"],
	"properties": {
		"id":         {"type": "string", "minLength": 1},
		"status":     {"const": "captured"},
		"payment_id": {"type": "string"},
		"amount":     {"type": "string"},
		"currency":   {"type": "string"}
	}
}`)

var refundSpec = tools.Spec{
	Name: "payments.refund", Category: "payments", Description: "Refund a captured payment, in whole or in part: payment_id, amount.",
	InputSchema: refundPayload, Stake: tools.Stake{Amount: "/amount", Currency: "/currency"},
}

var refundMembers = members{
	"payment_id": identifier,
	"amount":     amount,
	"currency":   currency,
	"reason":     text(1000),
}

var refundPayload = payloadOf(refundMembers, "payment_id", "amount")
