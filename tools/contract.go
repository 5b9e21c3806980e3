package tools

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"writ/intent"
	"writ/internal/jsonpointer"
)

// Window says how long a provider remembers an idempotency key, counted from the first
// request that carried it. Zero means that nothing was said: AssumedWindow is used.
type Window time.Duration

const (
	// WindowUnknown says that nobody knows: an open outcome is never sent again.
	WindowUnknown Window = -1
	// WindowForever says that the provider never forgets a key.
	WindowForever Window = Window(intent.Forever)
)

// String returns "forever", "unknown", "assumed 2m0s" for the zero window, or a duration.
func (w Window) String() string {
	switch w {
	case 0:
		return "assumed " + AssumedWindow.String()
	case WindowUnknown:
		return "unknown"
	case WindowForever:
		return "forever"
	default:
		return time.Duration(w).String()
	}
}

// window returns the provider's memory in effect.
func (s Spec) window() time.Duration {
	switch s.Key.Remembers {
	case 0:
		return AssumedWindow
	case WindowUnknown:
		return 0
	case WindowForever:
		return intent.Forever
	default:
		return time.Duration(s.Key.Remembers)
	}
}

// KeyContract is what a provider promises about idempotency keys.
type KeyContract struct {
	// Remembers is how long the provider remembers a key. Zero: two minutes are assumed.
	Remembers Window
	// ReplaysErrors says that the provider stores errors under a key as well and answers every
	// later request with them, as Stripe does. A retry after such an error needs a new key,
	// and an open outcome is looked up before it is sent again.
	ReplaysErrors bool
	// Serial says that two requests with one key at the same time are not safe. The next
	// attempt then waits until the lease of a lost one has ended.
	Serial bool
	// Mismatch is what the provider does with a known key and other parameters. It is for
	// people: Writ never sends one key with two payloads.
	Mismatch Mismatch
	// MaxLength is the longest key that the provider takes, in bytes; 0: it takes Writ's,
	// which have 36. Registration refuses a tool whose provider does not.
	MaxLength int
}

// Mismatch is what a provider does with a key that comes with other parameters than before.
type Mismatch string

// The zero Mismatch says that nobody knows.
const (
	MismatchUnknown Mismatch = ""
	// MismatchRefused: the request is refused.
	MismatchRefused Mismatch = "refused"
	// MismatchReplayed: the first answer is given again.
	MismatchReplayed Mismatch = "replayed"
	// MismatchPerformed: the key is ignored and the effect happens.
	MismatchPerformed Mismatch = "performed"
)

// LookupContract is what a provider promises about lookups.
type LookupContract struct {
	// SettleDelay is how long a request may take to land, or to show in a lookup, after the end
	// of its lease. Only after it a lookup that finds nothing shows that nothing happened.
	// Default 30 s; at most 30 days; Immediate for none.
	SettleDelay time.Duration
	// Max bounds the lookups after an attempt; then the intent is in doubt. Default 10; at
	// most 1,000.
	Max int
}

// Immediate, as LookupContract.SettleDelay, says that a lookup shows every request that has
// been sent by then.
const Immediate time.Duration = -1

// Stake names members of the payload, as JSON Pointers (RFC 6901) such as "/amount". None of them is
// writeOnly.
type Stake struct {
	// Amount is a decimal string or a number; Currency is text.
	Amount, Currency string
}

func (m Mismatch) known() bool {
	switch m {
	case MismatchUnknown, MismatchRefused, MismatchReplayed, MismatchPerformed:
		return true
	}
	return false
}

// hidden says which member the input schema marks writeOnly, or may: what is at stake is shown and counted,
// and stands in what budgets say.
func (s Stake) hidden(input *Schema) string {
	for _, at := range []struct{ name, pointer string }{{"Amount", s.Amount}, {"Currency", s.Currency}} {
		if at.pointer == "" {
			continue
		}
		var document any
		for _, token := range slices.Backward(slices.Collect(jsontext.Pointer(at.pointer).Tokens())) {
			document = map[string]any{token: document}
		}
		encoded, err := json.Marshal(document)
		if err != nil {
			return fmt.Sprintf("Stake.%s names nothing: %v", at.name, err)
		}
		if _, masked, err := input.Mask(encoded); err != nil || len(masked) > 0 {
			return fmt.Sprintf("Stake.%s is, or may be, what InputSchema marks writeOnly, and what is at stake is shown; name another member", at.name)
		}
	}
	return ""
}

func (s Stake) problem() string {
	if s.Amount == "" && s.Currency != "" {
		return "Stake.Currency needs Stake.Amount"
	}
	for _, at := range []struct{ name, pointer string }{{"Amount", s.Amount}, {"Currency", s.Currency}} {
		if at.pointer == "" {
			continue
		}
		if err := jsonpointer.Check(at.pointer); err != nil {
			return fmt.Sprintf("Stake.%s names nothing: %v", at.name, err)
		}
	}
	return ""
}
