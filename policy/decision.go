package policy

import (
	"encoding/json"
	"fmt"

	"writ/intent"
)

// Decision is what was decided, and by whom.
type Decision struct {
	Allow bool `json:"allow"`
	// Policy names the policy or the gate that decided.
	Policy string `json:"policy"`
	// Code is the reason code of a denial; empty if Allow.
	Code   intent.Code `json:"code,omitempty"`
	Reason string      `json:"reason,omitempty"`
	// Risk is what it was decided on, from 0 to 1; 0 also of a denial before it was known.
	Risk float64 `json:"risk,omitempty"`
	// Policies and PolicyDigest are those of the host policy's verdict.
	Policies     []string `json:"policies,omitempty"`
	PolicyDigest string   `json:"policy_digest,omitempty"`
	// SuspectedDuplicateOf is the earlier intent that the request seems to repeat.
	SuspectedDuplicateOf intent.ID `json:"suspected_duplicate_of,omitzero"`
	// Confirm says that people must confirm before anything is sent. Only if Allow.
	Confirm bool `json:"confirm,omitempty"`
	// Approvers is how many different people must; 0 is 1. Only with Confirm.
	Approvers int `json:"approvers,omitempty"`
}

// builtIn is the Policy of decisions by Writ's own rules.
const builtIn = "writ"

// Canonical returns the decision as canonical JSON.
func (d Decision) Canonical() ([]byte, error) {
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("decision: %w", err)
	}
	return intent.Canonicalize(raw)
}

// SpecDiverged is the denial of an intent whose tool changed its behaviour between its
// authorization and its first attempt.
func SpecDiverged() Decision {
	return Decision{Policy: builtIn, Code: intent.CodeSpecDiverged,
		Reason: "the tool's behaviour changed after the intent was authorized and before it was sent"}
}

// IntentAltered is the denial of an intent whose row is not what its commitment is over.
func IntentAltered() Decision {
	return Decision{Policy: builtIn, Code: intent.CodeIntentAltered,
		Reason: "somebody changed the intent in the database, so that it is not what was authorized"}
}
