package intent_test

import (
	"bytes"
	"encoding/json"
	"maps"
	"math/big"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"writ/intent"
)

func TestSpellingDoesNotChangeTheCanonicalForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		tree := drawTree(t, 4)
		first, second := spell(t, tree), spell(t, tree)
		a, err := intent.Canonicalize([]byte(first))
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		b, err := intent.Canonicalize([]byte(second))
		if err != nil {
			t.Fatalf("%s: %v", second, err)
		}
		if !bytes.Equal(a, b) {
			t.Errorf("one value, two canonical forms\n%s\n  %s\n%s\n  %s", first, a, second, b)
		}
	})
}

func TestDifferentValuesHaveDifferentCanonicalForms(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		first, second := spell(t, drawTree(t, 2)), spell(t, drawTree(t, 2))
		a, err := intent.Canonicalize([]byte(first))
		if err != nil {
			t.Fatalf("%s: %v", first, err)
		}
		b, err := intent.Canonicalize([]byte(second))
		if err != nil {
			t.Fatalf("%s: %v", second, err)
		}
		if same := sameValue(read(t, []byte(first)), read(t, []byte(second))); same != bytes.Equal(a, b) {
			t.Errorf("same value: %v\n%s\n  %s\n%s\n  %s", same, first, a, second, b)
		}
	})
}

func TestNumbersAreEqualExactlyWhenTheirCanonicalFormsAre(t *testing.T) {
	t.Parallel()
	// Few digits and exponents, so that equal values in different spellings are frequent.
	literal := rapid.StringMatching(`-?(0|[1-9][0-9]{0,2})(\.[0-9]{1,3})?([eE][+-]?[0-3])?`)
	rapid.Check(t, func(t *rapid.T) {
		first, second := literal.Draw(t, "first"), literal.Draw(t, "second")
		a, errA := intent.Canonicalize([]byte(first))
		b, errB := intent.Canonicalize([]byte(second))
		if errA != nil || errB != nil {
			t.Fatal(errA, errB)
		}
		x, y, z := rational(first), rational(second), rational(string(a))
		if x.Cmp(z) != 0 {
			t.Errorf("%s became %s, another value", first, a)
		}
		if (x.Cmp(y) == 0) != bytes.Equal(a, b) {
			t.Errorf("%s is %s and %s is %s", first, a, second, b)
		}
	})
}

func TestTheOrderOfNamesIsThatOfTheirUTF16CodeUnits(t *testing.T) {
	t.Parallel()
	name := rapid.StringOfN(rapid.RuneFrom([]rune{
		0, '\r', 'a', 'b', 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xfb33, 0xffff, 0x10000, 0x1f600, 0x10ffff,
	}), 0, 3, -1)
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.SliceOfNDistinct(name, 2, 6, rapid.ID).Draw(t, "names")
		var in []string
		for _, n := range names {
			quoted, err := json.Marshal(n)
			if err != nil {
				t.Fatal(err)
			}
			in = append(in, string(quoted)+":0")
		}
		out, err := intent.Canonicalize([]byte("{" + strings.Join(in, ",") + "}"))
		if err != nil {
			t.Fatal(err)
		}
		got := memberNames(t, out)
		if len(got) != len(names) {
			t.Fatalf("%d names went in, %d came out", len(names), len(got))
		}
		for i := 1; i < len(got); i++ {
			if !utf16Less(got[i-1], got[i]) {
				t.Errorf("%q stands before %q", got[i-1], got[i])
			}
		}
	})
}

// A tree is a JSON value without a spelling: nil, bool, string, *big.Rat, []any or
// map[string]any.
func drawTree(t *rapid.T, depth int) any {
	most := 5
	if depth == 0 {
		most = 3
	}
	switch rapid.IntRange(0, most).Draw(t, "kind") {
	case 0:
		return rapid.SampledFrom([]any{nil, true, false}).Draw(t, "literal")
	case 1:
		return rapid.StringOfN(rapid.Rune(), 0, 4, -1).Draw(t, "string")
	case 2:
		return big.NewRat(rapid.Int64().Draw(t, "integer"), 1)
	case 3:
		return big.NewRat(rapid.Int64Range(-2000, 2000).Draw(t, "numerator"), 1000)
	case 4:
		array := make([]any, rapid.IntRange(0, 3).Draw(t, "length"))
		for i := range array {
			array[i] = drawTree(t, depth-1)
		}
		return array
	default:
		object := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			object[rapid.StringOfN(rapid.Rune(), 0, 2, -1).Draw(t, "name")] = drawTree(t, depth-1)
		}
		return object
	}
}

// spell writes tree in one of its many spellings, drawn from t.
func spell(t *rapid.T, tree any) string {
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space") }
	switch v := tree.(type) {
	case string:
		return spellString(t, v)
	case *big.Rat:
		s := v.FloatString(3)
		switch rapid.IntRange(0, 3).Draw(t, "notation") {
		case 0:
			return s
		case 1:
			return s + "00e-0"
		case 2:
			return new(big.Rat).Mul(v, big.NewRat(1000, 1)).FloatString(0) + "E-3"
		default:
			return new(big.Rat).Quo(v, big.NewRat(10, 1)).FloatString(4) + "e+01"
		}
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, space()+spell(t, e)+space())
		}
		return "[" + strings.Join(parts, ",") + "]"
	case map[string]any:
		var parts []string
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, space()+spellString(t, name)+space()+":"+spell(t, v[name])+space())
		}
		return "{" + strings.Join(rapid.Permutation(parts).Draw(t, "order"), ",") + "}"
	default:
		encoded, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(encoded)
	}
}

func spellString(t *rapid.T, s string) string {
	plain, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if rapid.Bool().Draw(t, "escape everything") {
		return escapeAll(s)
	}
	return string(plain)
}
