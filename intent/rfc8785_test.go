package intent_test

import (
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"writ/intent"
)

// The samples of RFC 8785, section 3.2.2 and 3.2.3. The one difference is deliberate:
// 333333333.33333329 is not the shortest decimal of its double and keeps its digits.
func TestTheSamplesOfRFC8785AreSpelledAsItSpellsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, in, want string }{
		{
			"section 3.2.2",
			`{
			  "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
			  "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
			  "literals": [null, true, false]
			}`,
			`{"literals":[null,true,false],` +
				`"numbers":[333333333.33333329,1e+30,4.5,0.002,1e-27],` +
				`"string":"` + "\u20ac" + `$\u000f\nA'B\"\\\\\"/"}`,
		},
		{
			"section 3.2.3",
			`{
			  "\u20ac": "Euro Sign",
			  "\r": "Carriage Return",
			  "\ufb33": "Hebrew Letter Dalet With Dagesh",
			  "1": "One",
			  "\ud83d\ude00": "Emoji: Grinning Face",
			  "\u0080": "Control",
			  "\u00f6": "Latin Small Letter O With Diaeresis"
			}`,
			`{"\r":"Carriage Return","1":"One","` + "\u0080" + `":"Control","` +
				"\u00f6" + `":"Latin Small Letter O With Diaeresis","` + "\u20ac" + `":"Euro Sign","` +
				"\U0001f600" + `":"Emoji: Grinning Face","` + "\ufb33" + `":"Hebrew Letter Dalet With Dagesh"}`,
		},
	} {
		got, err := intent.Canonicalize([]byte(c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s\n got %s, %v\nwant %s", c.name, got, err, c.want)
		}
	}
}

// RFC 8785, appendix B: IEEE 754 doubles and their ECMAScript notation.
func TestTheDoublesOfRFC8785AreSpelledAsItSpellsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		bits uint64
		want string
	}{
		{0x0000000000000000, "0"},
		{0x8000000000000000, "0"},
		{0x0000000000000001, "5e-324"},
		{0x8000000000000001, "-5e-324"},
		{0x7fefffffffffffff, "1.7976931348623157e+308"},
		{0xffefffffffffffff, "-1.7976931348623157e+308"},
		{0x4340000000000000, "9007199254740992"},
		{0xc340000000000000, "-9007199254740992"},
		{0x4430000000000000, "295147905179352830000"},
		{0x44b52d02c7e14af5, "9.999999999999997e+22"},
		{0x44b52d02c7e14af6, "1e+23"},
		{0x44b52d02c7e14af7, "1.0000000000000001e+23"},
		{0x444b1ae4d6e2ef4e, "999999999999999700000"},
		{0x444b1ae4d6e2ef4f, "999999999999999900000"},
		{0x444b1ae4d6e2ef50, "1e+21"},
		{0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
		{0x3eb0c6f7a0b5ed8d, "0.000001"},
		{0x41b3de4355555553, "333333333.3333332"},
		{0x41b3de4355555554, "333333333.33333325"},
		{0x41b3de4355555555, "333333333.3333333"},
		{0x41b3de4355555556, "333333333.3333334"},
		{0x41b3de4355555557, "333333333.33333343"},
		{0xbecbf647612f3696, "-0.0000033333333333333333"},
		{0x43143ff3c1cb0959, "1424953923781206.2"},
	} {
		for _, literal := range shortest(math.Float64frombits(c.bits)) {
			got, err := intent.Canonicalize([]byte(literal))
			if err != nil || string(got) != c.want {
				t.Errorf("%016x, written as %s: got %s, %v; want %s", c.bits, literal, got, err, c.want)
			}
		}
	}
}

func TestTheShortestDecimalOfADoublePrintsAsRFC8785PrintsIt(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		f := math.Float64frombits(rapid.Uint64().Draw(t, "bits"))
		if math.IsNaN(f) || math.IsInf(f, 0) {
			t.Skip("not a JSON number")
		}
		want := jsontext.Value(strconv.FormatFloat(f, 'e', -1, 64))
		if err := want.Canonicalize(); err != nil {
			t.Fatal(err)
		}
		for _, literal := range shortest(f) {
			got, err := intent.Canonicalize([]byte(literal))
			if err != nil || string(got) != string(want) {
				t.Errorf("%s: got %s, %v; want %s", literal, got, err, want)
			}
		}
	})
}

// shortest returns several spellings of the shortest decimal that reads back as f.
func shortest(f float64) []string {
	scientific := strconv.FormatFloat(f, 'e', -1, 64)
	return []string{
		scientific,
		strings.ToUpper(scientific),
		strconv.FormatFloat(f, 'f', -1, 64),
	}
}
