package tools

import (
	"encoding/json"

	"writ/intent"
)

// Published is the JSON form of a spec, as it stands in the tool_specs table and is
// printed by `writ tools show`. Durations are milliseconds.
type Published struct {
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Category    string       `json:"category,omitempty"`
	Behaviour   Behaviour    `json:"behaviour"`
	Class       intent.Class `json:"class"`
	// KeyMismatch and KeyMaxLength are those of the key contract.
	KeyMismatch  Mismatch `json:"key_mismatch,omitempty"`
	KeyMaxLength int      `json:"key_max_length,omitempty"`
	// StakeAmount and StakeCurrency are JSON Pointers into the payload.
	StakeAmount   string `json:"stake_amount,omitempty"`
	StakeCurrency string `json:"stake_currency,omitempty"`
}

// Behaviour is the part of a spec that a request is authorized under. Its digest is
// bound into the commitment; a new description is not a new behaviour.
type Behaviour struct {
	Name             string `json:"name"`
	SideEffectful    bool   `json:"side_effectful"`
	Idempotent       bool   `json:"idempotent"`
	Retryable        bool   `json:"retryable"`
	Provider         string `json:"provider,omitempty"`
	TimeoutMS        int64  `json:"timeout_ms"`
	MaxAttempts      int    `json:"max_attempts"`
	InitialBackoffMS int64  `json:"initial_backoff_ms"`
	MaxBackoffMS     int64  `json:"max_backoff_ms"`
	// KeyWindow is "forever", "unknown", "assumed 2m0s" or a Go duration; empty unless
	// the tool is keyed.
	KeyWindow string `json:"key_window,omitempty"`
	// KeyReplaysErrors and KeySerial are those of the key contract.
	KeyReplaysErrors bool `json:"key_replays_errors,omitempty"`
	KeySerial        bool `json:"key_serial,omitempty"`
	// Transactional and Reconcilable are those of the spec, and the rest is its lookup
	// contract.
	Transactional bool  `json:"transactional,omitempty"`
	Reconcilable  bool  `json:"reconcilable,omitempty"`
	SettleDelayMS int64 `json:"settle_delay_ms,omitempty"`
	MaxLookups    int   `json:"max_lookups,omitempty"`
	// InputSchema and OutputSchema are in canonical form; absent where there is none. See
	// CompileSchema.
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// Duplicates is absent for a tool without side effects, and for the default.
	Duplicates *PublishedGuard `json:"duplicates,omitempty"`
	// Risk and MaxRisk are absent where they are the default, and so are the two lists, which are
	// sorted.
	Risk        float64  `json:"risk,omitempty"`
	MaxRisk     float64  `json:"max_risk,omitempty"`
	Consents    []string `json:"consents,omitempty"`
	DataClasses []string `json:"data_classes,omitempty"`
}

// Publish returns the JSON form of s with defaults filled in. It panics if a schema is not
// JSON, which NewRegistry refuses.
func (s Spec) Publish() Published {
	s = s.withDefaults()
	b := Behaviour{
		Name: s.Name, SideEffectful: s.SideEffectful, Idempotent: s.Idempotent, Retryable: s.Retryable,
		Provider: s.Provider, TimeoutMS: s.Timeout.Milliseconds(), MaxAttempts: s.Retry.MaxAttempts,
		InitialBackoffMS: s.Retry.InitialBackoff.Milliseconds(), MaxBackoffMS: s.Retry.MaxBackoff.Milliseconds(),
		InputSchema: published(s.InputSchema), OutputSchema: published(s.OutputSchema),
		Duplicates: s.Duplicates.publish(), Transactional: s.Transactional, Reconcilable: s.Reconcilable,
		Risk: s.Risk, Consents: sorted(s.Consents), DataClasses: sorted(s.DataClasses),
	}
	if s.MaxRisk != 1 {
		b.MaxRisk = s.MaxRisk
	}
	if s.Class() == intent.Keyed {
		b.KeyWindow, b.KeyReplaysErrors, b.KeySerial = s.Key.Remembers.String(), s.Key.ReplaysErrors, s.Key.Serial
	}
	if s.Reconcilable {
		b.SettleDelayMS, b.MaxLookups = max(s.Lookup.SettleDelay, 0).Milliseconds(), s.Lookup.Max
	}
	return Published{
		Name: s.Name, Description: s.Description, Category: s.Category, Behaviour: b, Class: s.Class(),
		KeyMismatch: s.Key.Mismatch, KeyMaxLength: s.Key.MaxLength, StakeAmount: s.Stake.Amount, StakeCurrency: s.Stake.Currency,
	}
}

// published returns the one form in which a schema is published and digested.
func published(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return nil
	}
	canonical, err := canonicalSchema(schema)
	if err != nil {
		panic("tools: a schema that was not registered " + err.Error())
	}
	return canonical
}

// Digest returns the digest of the behavioural part of s. It panics where Publish does.
func (s Spec) Digest() intent.Digest {
	raw, err := json.Marshal(s.Publish().Behaviour)
	if err != nil {
		panic("tools: a behaviour of strings, numbers and booleans did not marshal: " + err.Error())
	}
	canonical, err := intent.Canonicalize(raw)
	if err != nil {
		panic("tools: a marshalled behaviour is not JSON: " + err.Error())
	}
	return intent.SpecDigest(canonical)
}
