package writ

import (
	"math"
	"testing"

	"writ/intent"
)

func TestARiskIsANumberFromNothingToOneOrARequestIsNone(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]float64{`0`: 0, `1`: 1, `0.25`: 0.25, `2.5e-1`: 0.25, `null`: 0} {
		r, err := ParseRequest([]byte(`{"tool":"echo","principal":"till-7","risk":` + text + `}`))
		if err != nil || r.Risk != want {
			t.Errorf("%s: %v, %v", text, r.Risk, err)
		}
	}
	for _, text := range []string{`1.01`, `-0.1`, `"0.5"`, `true`, `{}`, `1e999`} {
		if _, err := ParseRequest([]byte(`{"tool":"echo","principal":"till-7","risk":` + text + `}`)); intent.CodeOf(err) != intent.CodeInvalidRequest {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, risk := range []float64{-0.1, 1.01, math.NaN(), math.Inf(1)} {
		if err := (Request{Tool: "echo", Principal: "till-7", Risk: risk}).Check(); intent.CodeOf(err) != intent.CodeInvalidRequest {
			t.Errorf("%v: %v", risk, err)
		}
	}
}
