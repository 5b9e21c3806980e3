package invocation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"writ/intent"
)

// Fields are the contents of an Invocation.
type Fields struct {
	Tool           string
	Payload        []byte // canonical JSON object
	Context        intent.EffectContext
	IdempotencyKey intent.IdempotencyKey
	Attempt        int
	Deadline       time.Time
	SendBy         time.Time
}

// Invocation is what a tool receives for one attempt: the payload, the effect context,
// the idempotency key, the attempt number and the deadline, and nothing else.
type Invocation struct{ f Fields }

// New returns the invocation that carries f. The payload is copied.
func New(f Fields) Invocation {
	f.Payload = bytes.Clone(f.Payload)
	return Invocation{f: f}
}

// Tool returns the name of the tool that is invoked.
func (i Invocation) Tool() string { return i.f.Tool }

// Payload returns a copy of the canonical JSON object that was hashed, stored and
// authorized.
func (i Invocation) Payload() []byte { return bytes.Clone(i.f.Payload) }

// Decode unmarshals the payload into v with encoding/json. The error does not say what
// happened, because only the tool knows whether it sent something before: it returns
// tools.NotApplied(err).AsFinal() if it did not. A tools.Validator is the better place,
// since it refuses the payload before anything is written.
func (i Invocation) Decode(v any) error {
	if err := json.Unmarshal(i.f.Payload, v); err != nil {
		return fmt.Errorf("payload of %s: %w", i.f.Tool, err)
	}
	return nil
}

// Context returns who asked, and from where.
func (i Invocation) Context() intent.EffectContext { return i.f.Context }

// IdempotencyKey returns the key to send to the provider, byte for byte: 36 ASCII bytes
// that stay the same on every attempt of the intent's generation.
func (i Invocation) IdempotencyKey() string { return string(i.f.IdempotencyKey) }

// Attempt returns the number of this attempt, from 1. Higher numbers are newer: it can
// serve as a fencing token.
func (i Invocation) Attempt() int { return i.f.Attempt }

// Deadline returns the time by which the tool must have answered. The context of the
// invocation ends then.
func (i Invocation) Deadline() time.Time { return i.f.Deadline }

// SendBy returns the time after which nothing may be sent any more for this attempt. The
// effect transport (tools/effecthttp) refuses to send later; a tool that has a transport
// of its own must check it.
func (i Invocation) SendBy() time.Time { return i.f.SendBy }

// Question are the contents of an Inquiry.
type Question struct {
	Tool           string
	Payload        []byte // canonical JSON object
	Context        intent.EffectContext
	IdempotencyKey intent.IdempotencyKey
	FirstSentAt    time.Time
	Deadline       time.Time
}

// Inquiry is what a tool receives to look up what became of an effect.
type Inquiry struct{ q Question }

// NewInquiry returns the inquiry that carries q. The payload is copied.
func NewInquiry(q Question) Inquiry {
	q.Payload = bytes.Clone(q.Payload)
	return Inquiry{q: q}
}

// Tool returns the name of the tool that is asked.
func (i Inquiry) Tool() string { return i.q.Tool }

// Payload returns a copy of the canonical JSON object that was sent.
func (i Inquiry) Payload() []byte { return bytes.Clone(i.q.Payload) }

// Decode unmarshals the payload into v with encoding/json.
func (i Inquiry) Decode(v any) error {
	if err := json.Unmarshal(i.q.Payload, v); err != nil {
		return fmt.Errorf("payload of %s: %w", i.q.Tool, err)
	}
	return nil
}

// Context returns who asked for the effect, and from where.
func (i Inquiry) Context() intent.EffectContext { return i.q.Context }

// IdempotencyKey returns the key that the effect was sent with, byte for byte.
func (i Inquiry) IdempotencyKey() string { return string(i.q.IdempotencyKey) }

// FirstSentAt returns when the effect may first have been sent, by the database's clock.
func (i Inquiry) FirstSentAt() time.Time { return i.q.FirstSentAt }

// Deadline returns the time by which the tool must have answered.
func (i Inquiry) Deadline() time.Time { return i.q.Deadline }
