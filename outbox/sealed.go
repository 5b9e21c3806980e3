package outbox

import (
	"encoding/json"

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
		return c, Unreadable("what is recorded as the effect context of intent "+r.ID.String(), err)
	}
	return c, nil
}
