package intent_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"writ/intent"
)

func TestCanonicalizeGivesEachValueOneSpelling(t *testing.T) {
	t.Parallel()
	nines := strings.Repeat("9", intent.MaxDigits)
	for _, c := range []struct{ name, in, want string }{
		// Literals and layout.
		{"null", "null", "null"},
		{"true", "true", "true"},
		{"false", "false", "false"},
		{"whitespace around", " \t\r\n{} \t\r\n", "{}"},
		{"whitespace inside", "{ \"a\" : [ 1 , 2 ] }", `{"a":[1,2]}`},
		{"empty array", "[ ]", "[]"},
		{"array order stays", "[3,1,2]", "[3,1,2]"},
		{"nested", `{"b":{"d":1,"c":2},"a":[{"z":0,"y":0}]}`, `{"a":[{"y":0,"z":0}],"b":{"c":2,"d":1}}`},

		// Integers.
		{"zero", "0", "0"},
		{"negative zero", "-0", "0"},
		{"negative zero with fraction", "-0.000", "0"},
		{"negative zero with exponent", "-0e5", "0"},
		{"zero with an exponent beyond any range", "0e99999999999999999999", "0"},
		{"one", "1", "1"},
		{"one as a fraction", "1.0", "1"},
		{"one with exponent", "1e0", "1"},
		{"one with plus", "1e+0", "1"},
		{"one with minus zero", "1E-0", "1"},
		{"one from ten", "10e-1", "1"},
		{"one from a tenth", "0.1e1", "1"},
		{"exponent with leading zeros", "1e" + strings.Repeat("0", 500) + "2", "100"},
		{"2^53", "9007199254740992", "9007199254740992"},
		{"2^53+1 keeps all its digits", "9007199254740993", "9007199254740993"},
		{"2^53+1 as a fraction", "9007199254740993.0", "9007199254740993"},
		{"2^64", "18446744073709551616", "18446744073709551616"},
		{"an order number", "2512292042121000001", "2512292042121000001"},
		{"a negative order number", "-2512292042121000001", "-2512292042121000001"},
		{"21 digits", "999999999999999999999", "999999999999999999999"},
		{"1e20", "1e20", "100000000000000000000"},
		{"1e21", "1e21", "1e+21"},
		{"1e21 written out", "1000000000000000000000", "1e+21"},
		{"1e21+1", "1000000000000000000001", "1.000000000000000000001e+21"},
		{"30 digits", "123456789012345678901234567890", "1.2345678901234567890123456789e+29"},

		// Fractions and exponents.
		{"money", "1.10", "1.1"},
		{"money, other spelling", "110e-2", "1.1"},
		{"money, negative", "-1.10", "-1.1"},
		{"cents", "0.01", "0.01"},
		{"a tenth beyond a double", "0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"},
		{"1e-6", "1e-6", "0.000001"},
		{"1e-7", "1e-7", "1e-7"},
		{"just under 1e-6", "0.00000099", "9.9e-7"},
		{"just over 1e-6", "0.00000101", "0.00000101"},
		{"capital E", "1.5E3", "1500"},
		{"point moved into the digits", "123456e-3", "123.456"},
		{"point moved before the digits", "123e-5", "0.00123"},
		{"beyond a double", "1E400", "1e+400"},
		{"beyond a double, small", "1.25E-400", "1.25e-400"},
		{"largest exponent", "1e6144", "1e+6144"},
		{"largest exponent, shifted literal", "0.001e6147", "1e+6144"},
		{"smallest exponent", "-1e-6144", "-1e-6144"},
		{"smallest exponent, shifted literal", "1000e-6147", "1e-6144"},
		{"1000 digits", nines, "9." + nines[1:] + "e+999"},
		{"1000 digits after zeros that do not count", "0.00000" + nines, "0.00000" + nines},
		{"999 zeros after the one", "1" + strings.Repeat("0", 999), "1e+999"},
		{"1000 zeros before the one", "0." + strings.Repeat("0", 1000) + "1", "1e-1001"},

		// Strings.
		{"no escapes for HTML", `"<>&"`, `"<>&"`},
		{"escapes of HTML undone", `"\u003c\u003E\u0026"`, `"<>&"`},
		{"line separators stay raw", "\"\u2028\u2029\"", "\"\u2028\u2029\""},
		{"line separators escaped", `"\u2028\u2029"`, "\"\u2028\u2029\""},
		{"NUL in a value", `"a\u0000b"`, `"a\u0000b"`},
		{"NUL in a name", `{"\u0000":1}`, `{"\u0000":1}`},
		{"short escapes", `"\u0008\u0009\u000a\u000c\u000d"`, `"\b\t\n\f\r"`},
		{"other controls in lower case", `"\u001F\u000B"`, `"\u001f\u000b"`},
		{"delete stays raw", `"\u007f"`, "\"\x7f\""},
		{"slash", `"\/"`, `"/"`},
		{"quote and backslash", `"\u0022\u005c"`, `"\"\\"`},
		{"surrogate pair", `"\ud83d\ude00"`, "\"\U0001f600\""},
		{"surrogate pair in capitals", `"\uD83D\uDE00"`, "\"\U0001f600\""},
		{"noncharacters are characters here", `"\uffff\ufffe"`, "\"\uffff\ufffe\""},
		{"replacement character", `"\ufffd"`, "\"\ufffd\""},
		{"no normalization", "[\"\u00e9\",\"e\u0301\"]", "[\"\u00e9\",\"e\u0301\"]"},
		{"digits in a string are text", `"1.0"`, `"1.0"`},

		// Names.
		{"names sorted", `{"b":1,"a":2}`, `{"a":2,"b":1}`},
		{"prefix first", `{"aa":1,"a":2,"":3}`, `{"":3,"a":2,"aa":1}`},
		{"capitals first", `{"a":1,"B":2}`, `{"B":2,"a":1}`},
		{"escaped names sort by their meaning", `{"b":1,"\u0061":2}`, `{"a":2,"b":1}`},
		{"UTF-16 order beyond the BMP", "{\"\ufb33\":1,\"\U0001f600\":2}", "{\"\U0001f600\":2,\"\ufb33\":1}"},
		{"UTF-16 order of two astral names", "{\"\U0001f601\":1,\"\U0001f600\":2}", "{\"\U0001f600\":2,\"\U0001f601\":1}"},
		{"names with numbers", `{"10":1,"9":2}`, `{"10":1,"9":2}`},
		{"names that differ in normalization", "{\"e\u0301\":1,\"\u00e9\":2}", "{\"e\u0301\":1,\"\u00e9\":2}"},
		{"same name in different objects", `{"a":{"a":1}}`, `{"a":{"a":1}}`},

		// Depth.
		{"depth 128 of arrays", nested("[", "1.0", "]", 128), nested("[", "1", "]", 128)},
		{"depth 128 of objects", nested(`{ "a":`, "1.0", "}", 128), nested(`{"a":`, "1", "}", 128)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			in := []byte(c.in)
			got, err := intent.Canonicalize(in)
			if err != nil {
				t.Fatalf("Canonicalize(%.80q): %v", c.in, err)
			}
			if string(got) != c.want {
				t.Errorf("Canonicalize(%.80q)\n got %.200q\nwant %.200q", c.in, got, c.want)
			}
			if string(in) != c.in {
				t.Error("the input was changed")
			}
			again, err := intent.Canonicalize(got)
			if err != nil || !bytes.Equal(again, got) {
				t.Errorf("canonical text is not its own canonical form: %.200q, %v", again, err)
			}
		})
	}
}

func TestCanonicalizeRejectsWhatHasNoSingleMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, in string
		code     intent.Code
		offset   int64
	}{
		{"empty", "", intent.CodeInvalidJSON, 0},
		{"only whitespace", " \n", intent.CodeInvalidJSON, 2},
		{"NaN", "NaN", intent.CodeInvalidJSON, 0},
		{"NaN inside", `{"a":NaN}`, intent.CodeInvalidJSON, 5},
		{"Infinity", "[-Infinity]", intent.CodeInvalidJSON, 2},
		{"a word", "nul", intent.CodeInvalidJSON, 3},
		{"a wrong word", "[nulL]", intent.CodeInvalidJSON, 4},
		{"unfinished object", `{"a":1`, intent.CodeInvalidJSON, 6},
		{"unfinished string", `"abc`, intent.CodeInvalidJSON, 4},
		{"unfinished escape", `"\u12`, intent.CodeInvalidJSON, 5},
		{"unfinished number", "-", intent.CodeInvalidJSON, 1},
		{"unfinished exponent", "[1e", intent.CodeInvalidJSON, 3},
		{"missing value", `{"a":}`, intent.CodeInvalidJSON, 5},
		{"comma at the end", "[1,]", intent.CodeInvalidJSON, 2},
		{"missing comma", "[1 2]", intent.CodeInvalidJSON, 3},
		{"wrong bracket", "[1}", intent.CodeInvalidJSON, 2},
		{"name without quotes", "{a:1}", intent.CodeInvalidJSON, 1},
		{"name that is a number", "{1:1}", intent.CodeInvalidJSON, 1},
		{"single quotes", "'a'", intent.CodeInvalidJSON, 0},
		{"comment", "[1/*x*/]", intent.CodeInvalidJSON, 2},
		{"raw control character", "\"a\nb\"", intent.CodeInvalidJSON, 2},
		{"raw NUL", "\"a\x00b\"", intent.CodeInvalidJSON, 2},
		{"unknown escape", `"\x41"`, intent.CodeInvalidJSON, 1},
		{"bad hexadecimal", `"\u00zz"`, intent.CodeInvalidJSON, 1},
		{"plus sign", "[+1]", intent.CodeInvalidJSON, 1},
		{"leading point", "[.5]", intent.CodeInvalidJSON, 1},
		{"point without digits", "[1.]", intent.CodeInvalidJSON, 3},
		{"leading zero", "[01]", intent.CodeInvalidJSON, 2},
		{"hexadecimal number", "[0x1]", intent.CodeInvalidJSON, 2},
		{"byte order mark", "\ufeff{}", intent.CodeInvalidJSON, 0},
		{"non-breaking space", "[\u00a01]", intent.CodeInvalidJSON, 1},

		{"surrogate escape outside of strings", `["a",\uDDDD]`, intent.CodeInvalidJSON, 5},

		{"invalid UTF-8 in a value", "\"a\xffb\"", intent.CodeInvalidUTF8, 2},
		{"invalid UTF-8 in a name", "{\"\xc3\x28\":1}", intent.CodeInvalidUTF8, 2},
		{"truncated UTF-8", "\"\xe2\x82", intent.CodeInvalidUTF8, 1},
		{"overlong UTF-8", "\"\xc0\xaf\"", intent.CodeInvalidUTF8, 1},
		{"surrogate in UTF-8", "\"\xed\xa0\x80\"", intent.CodeInvalidUTF8, 1},
		{"invalid UTF-8 outside of strings", "[1,\xff]", intent.CodeInvalidUTF8, 3},
		{"invalid UTF-8 after the value", "{}\xff", intent.CodeInvalidUTF8, 2},

		{"lone high surrogate", `"\ud800"`, intent.CodeLoneSurrogate, 1},
		{"lone low surrogate", `{"k":"x\uDC00"}`, intent.CodeLoneSurrogate, 7},
		{"lone surrogate in a name", `{"\uDBFF":1}`, intent.CodeLoneSurrogate, 2},
		{"two high surrogates", `"\ud800\ud800"`, intent.CodeLoneSurrogate, 1},
		{"surrogates in the wrong order", `"\udc00\ud800"`, intent.CodeLoneSurrogate, 1},
		{"high surrogate before text", `"\ud800abcdefgh"`, intent.CodeLoneSurrogate, 1},
		{"high surrogate before another escape", `"\ud800\n      "`, intent.CodeLoneSurrogate, 1},

		{"duplicate name", `{"a":1,"a":1}`, intent.CodeDuplicateMember, 7},
		{"duplicate name in an inner object", `{"x":[{"b":1,"c":2,"b":3}]}`, intent.CodeDuplicateMember, 19},
		{"duplicate through an escape", `{"a":1,"\u0061":2}`, intent.CodeDuplicateMember, 7},
		{"duplicate through a surrogate pair", "{\"\U0001f600\":1,\"\\ud83d\\ude00\":2}", intent.CodeDuplicateMember, 10},
		{"duplicate empty name", `{"":1,"":2}`, intent.CodeDuplicateMember, 6},

		{"two values", "{}{}", intent.CodeTrailingData, 2},
		{"two lines", "{}\n{}\n", intent.CodeTrailingData, 3},
		{"text after", "1 x", intent.CodeTrailingData, 2},
		{"comma after", "null,", intent.CodeTrailingData, 4},
		{"bracket after", "[1]]", intent.CodeTrailingData, 3},
		{"NUL after", "{}\x00", intent.CodeTrailingData, 2},

		{"depth 129 of arrays", nested("[", "1", "]", 129), intent.CodeTooDeep, 128},
		{"depth 129 of objects", nested(`{"a":`, "1", "}", 129), intent.CodeTooDeep, 128 * 5},
		{"depth 100000", nested("[", "", "]", 100_000), intent.CodeTooDeep, 128},
		{"depth 100000 without an end", strings.Repeat("[", 100_000), intent.CodeTooDeep, 128},

		{"1001 digits", "[" + strings.Repeat("1", 1001) + "]", intent.CodeNumberTooLong, 1},
		{"1001 digits with zeros at the end", "1" + strings.Repeat("0", 1000), intent.CodeNumberTooLong, 0},
		{"1001 digits around a point", `{"a":-` + strings.Repeat("1", 500) + "." + strings.Repeat("1", 501) + "}", intent.CodeNumberTooLong, 5},
		{"a megabyte of digits", strings.Repeat("7", 1<<20), intent.CodeNumberTooLong, 0},
		{"exponent 6145", "[1, 1e6145]", intent.CodeNumberOutOfRange, 4},
		{"exponent 6145 by its digits", "10e6144", intent.CodeNumberOutOfRange, 0},
		{"exponent -6145", "1e-6145", intent.CodeNumberOutOfRange, 0},
		{"exponent -6145 by its zeros", "-0.1e-6144", intent.CodeNumberOutOfRange, 0},
		{"exponent beyond int64", "1e99999999999999999999", intent.CodeNumberOutOfRange, 0},
		{"exponent beyond int64, small", "1e-99999999999999999999", intent.CodeNumberOutOfRange, 0},
		{"a megabyte of exponent", "1e" + strings.Repeat("9", 1<<20), intent.CodeNumberOutOfRange, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, err := intent.Canonicalize([]byte(c.in))
			if got != nil {
				t.Errorf("a rejected value has a canonical form: %.80q", got)
			}
			wantError(t, err, c.code, c.offset)
		})
	}
}

// encoding/json, and with it Temporal's converter, escapes <, > and & and the line
// separators; what comes back from there must still be the same action.
func TestCanonicalFormSurvivesEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, in := range []string{
		`{"html":"<b>&amp;</b>","lines":"` + "\u2028\u2029" + `","nul":"\u0000","<&>":1}`,
		`{"n":[9007199254740993,1e400,1.10,-0,123456789012345678901234567890]}`,
		`{"` + "\U0001f600" + `":1,"` + "\ufb33" + `":2,"\r":3}`,
		nested("[", `"<"`, "]", intent.MaxDepth),
	} {
		want, err := intent.Canonicalize([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(json.RawMessage(want))
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(string(encoded), "<>&") {
			t.Errorf("the encoder escaped nothing in %s: this test shows nothing", encoded)
		}
		got, err := intent.Canonicalize(encoded)
		if err != nil || !bytes.Equal(got, want) {
			t.Errorf("through encoding/json\n got %s, %v\nwant %s", got, err, want)
		}
	}
}

// wantError checks what every rejection of JSON promises: what wantRefusal checks, and
// a text that names the byte.
func wantError(t *testing.T, err error, code intent.Code, offset int64) {
	t.Helper()
	wantRefusal(t, err, code, offset)
	if want := fmt.Sprintf("byte %d", offset); err != nil && !strings.Contains(err.Error(), want) {
		t.Errorf("%q does not say %q", err, want)
	}
}

// wantRefusal checks an error's code and byte, that it says that nothing happened, and
// that its text stays readable whatever the input was.
func wantRefusal(t *testing.T, err error, code intent.Code, offset int64) {
	t.Helper()
	var e *intent.Error
	if !errors.As(err, &e) {
		t.Errorf("got the error %v, want an *intent.Error with %s", err, code)
		return
	}
	if e.Code != code || e.Offset != offset {
		t.Errorf("got %s at %d (%s), want %s at %d", e.Code, e.Offset, e.Message, code, offset)
	}
	if e.Effect != intent.NotApplied || e.TryAgain {
		t.Errorf("%s: effect %q, try again %v", e.Code, e.Effect, e.TryAgain)
	}
	if len(e.Message) > 400 {
		t.Errorf("a message of %d bytes: %.100s...", len(e.Message), e.Message)
	}
}

// nested wraps inner into n levels.
func nested(open, inner, end string, n int) string {
	return strings.Repeat(open, n) + inner + strings.Repeat(end, n)
}
