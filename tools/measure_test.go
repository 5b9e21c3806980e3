package tools

import (
	"strings"
	"testing"
)

func TestADocumentIsMeasuredBeforeItIsBuilt(t *testing.T) {
	t.Parallel()
	for doc, want := range map[string]size{
		`1`:                            {0, 1},
		`"1e6144"`:                     {0, 0},
		`{"a":[1,-2.5,{"1234567":0}]}`: {3, 4},
		`[1e+6144]`:                    {1, 6145},
		`[1.25e-300]`:                  {1, 304},
	} {
		if got, err := measure([]byte(doc)); err != nil || got != want {
			t.Errorf("%s: %+v, %v", doc, got, err)
		}
	}
	few, many := strings.Repeat("[", 100), strings.Repeat("0,", maxTokens)
	if _, err := measure([]byte("[" + many + "0]")); err == nil || err.Error() != "it cannot be checked against its schema: it has too many values" {
		t.Errorf("too many values: %v", err)
	}
	if _, err := measure([]byte(few)); err == nil {
		t.Error("half a document was measured")
	}
}

func TestAStepCostsMoreTheDeeperAndLongerADocumentIs(t *testing.T) {
	t.Parallel()
	flat, deep, long := size{1, 10}.steps(), size{128, 10}.steps(), size{1, 6144}.steps()
	if flat < 500_000 || deep > flat/4 || long > flat/50 || long < 1000 {
		t.Errorf("flat %d, deep %d, long %d", flat, deep, long)
	}
}
