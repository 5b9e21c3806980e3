package outbox

import (
	"encoding/json"
	"fmt"

	"writ/intent"
)

// Context is the effect context that the intent was sealed with.
func (r Row) Context() (intent.EffectContext, error) {
	var c intent.EffectContext
	if err := json.Unmarshal(r.EffectContext, &c); err != nil {
		return c, fmt.Errorf("effect context of intent %s: %w", r.ID, err)
	}
	return c, nil
}
