package sample

import (
	"encoding/json"

	"writ/tools"
)

var transferSpec = tools.Spec{
	Name: "transfers.create", Category: "payments", Description: "Send money to an account: account_id, amount, currency. The provider ignores idempotency keys and can be asked what became of a transfer.",
	InputSchema: transferPayload, OutputSchema: transferAnswer, Stake: tools.Stake{Amount: "/amount", Currency: "/currency"},
}

var transferMembers = members{
	"account_id":  identifier,
	"amount":      amount,
	"currency":    currency,
	"description": text(1000),
}

var transferPayload = payloadOf(transferMembers, "account_id", "amount", "currency")

// transferAnswer is what the provider answers, with room for more members.
var transferAnswer = json.RawMessage(`{
	"type": "object",
	"required": ["id", "status", "account_id", "amount", "currency"],
	"properties": {
		"id":         {"type": "string", "minLength": 1},
		"status":     {"const": "created"},
		"account_id": {"type": "string"},
		"amount":     {"type": "string"},
		"currency":   {"type": "string"}
	}
}`)
