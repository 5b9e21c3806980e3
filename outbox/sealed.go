package outbox

import (
	"encoding/json"
	"fmt"

	"writ/intent"
)

// Sealed is what the row's request key stands for.
func (r Row) Sealed() intent.Sealed {
	return intent.Sealed{Salt: r.Salt, Fingerprint: r.Fingerprint, Context: r.EffectContext}
}

// Authorized is what the row's commitment is over.
func (r Row) Authorized() intent.Authorized {
	return intent.Authorized{
		Fingerprint: r.Fingerprint, SpecDigest: r.SpecDigest, Context: r.EffectContext,
		Decision: r.Decision, Key: r.IdempotencyKey, Generation: r.Generation,
	}
}

// Context is the effect context that the intent was sealed with.
func (r Row) Context() (intent.EffectContext, error) {
	var c intent.EffectContext
	if err := json.Unmarshal(r.EffectContext, &c); err != nil {
		return c, fmt.Errorf("effect context of intent %s: %w", r.ID, err)
	}
	return c, nil
}
