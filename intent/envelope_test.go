package intent_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"writ/intent"
)

func readEnvelope(src string) (intent.Envelope, error) {
	return intent.ReadEnvelope(intent.Value{Raw: []byte(src), Offset: 100}, "request", envelopeMembers)
}

func TestAnEnvelopeHasItsValuesAsTheyWereSent(t *testing.T) {
	t.Parallel()
	const src = ` { "t\u006fol" : "e\u0063ho" , "payload":{"b":1.0,"b":2},"request_key":null } `
	e, err := readEnvelope(src)
	if err != nil || len(e) != 3 {
		t.Fatalf("%v, %v", e, err)
	}
	for name, raw := range map[string]string{"tool": `"e\u0063ho"`, "payload": `{"b":1.0,"b":2}`, "request_key": "null"} {
		v := e[name]
		if string(v.Raw) != raw || v.Offset != int64(100+strings.Index(src, raw)) || v.IsAbsent() != (raw == "null") {
			t.Errorf("%s is %q at %d", name, v.Raw, v.Offset)
		}
	}
	if tool, err := e.Name("tool"); tool != "echo" || err != nil {
		t.Errorf("%q, %v", tool, err)
	}
	if key, err := e.RequestKey("request_key"); key != "" || err != nil {
		t.Errorf("%q, %v", key, err)
	}
	if text, err := e.Text("tenant"); text != "" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	// What is wrong inside a value is found by its reader, at its place in what was sent.
	_, err = intent.ReadPayload(e["payload"], 0)
	wantError(t, err, intent.CodeDuplicateMember, int64(100+strings.Index(src, `"b":2`)))
	if err := e["payload"].Check(); intent.CodeOf(err) != intent.CodeDuplicateMember {
		t.Errorf("%v", err)
	}
}

func TestAnEnvelopeIsExact(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, src string
		code      intent.Code
		offset    int64
	}{
		{"another case", `{"Tool":1}`, intent.CodeUnknownMember, 1},
		{"another case after the right one", `{"tool":1,"TOOL":2}`, intent.CodeUnknownMember, 10},
		{"a letter that folds to s", `{"reque` + "\u017f" + `t_key":1}`, intent.CodeUnknownMember, 1},
		{"a letter that folds to k", `{"request_` + "\u212a" + `ey":1}`, intent.CodeUnknownMember, 1},
		{"a space", `{"tool ":1}`, intent.CodeUnknownMember, 1},
		{"no such member", `{"tool":1,"args":{}}`, intent.CodeUnknownMember, 10},
		{"the empty name", `{"":1}`, intent.CodeUnknownMember, 1},
		{"a member twice", `{"tool":1,"tool":1}`, intent.CodeDuplicateMember, 10},
		{"a member twice, once escaped", `{"tool":1, "\u0074ool":1}`, intent.CodeDuplicateMember, 11},
		{"a lone surrogate in a name", `{"a\ud800":1}`, intent.CodeLoneSurrogate, 3},
		{"a name that is not UTF-8", "{\"a\xff\":1}", intent.CodeInvalidUTF8, 3},
		{"bytes that are not UTF-8 between members", "{\"tool\":1,\xff}", intent.CodeInvalidUTF8, 10},
		{"bytes that are not UTF-8 in place of a value", "{\"tool\":\xff}", intent.CodeInvalidUTF8, 8},
		{"nothing", "", intent.CodeInvalidJSON, 0},
		{"half of it", `{"tool":"a"`, intent.CodeInvalidJSON, 11},
		{"half a value", `{"tool":"a`, intent.CodeInvalidJSON, 10},
		{"half an array", `{"payload":[1,`, intent.CodeInvalidJSON, 14},
		{"no value", `{"tool"}`, intent.CodeInvalidJSON, 7},
		{"a comma at the end", `{"tool":1,}`, intent.CodeInvalidJSON, 9},
		{"no comma", `{"tool":1 "payload":2}`, intent.CodeInvalidJSON, 10},
		{"a name that is a number", `{1:1}`, intent.CodeInvalidJSON, 1},
		{"a broken value", `{"payload":{"a":nul}}`, intent.CodeInvalidJSON, 19},
		{"a broken number", `{"payload":01}`, intent.CodeInvalidJSON, 12},
		{"a second envelope", `{}{}`, intent.CodeTrailingData, 2},
		{"too deep to be taken apart", `{"payload":` + nested("[", "", "]", 20_000) + "}", intent.CodeTooDeep, 11 + 128},
		{"too deep, and broken", `{"payload":` + strings.Repeat("[", 200) + "}", intent.CodeTooDeep, 11 + 128},
		{"null", " null", intent.CodeInvalidRequest, 1},
		{"an array", `[{"tool":1}]`, intent.CodeInvalidRequest, 0},
		{"a string", `"{}"`, intent.CodeInvalidRequest, 0},
		{"a number", `1`, intent.CodeInvalidRequest, 0},
		{"a boolean", `true`, intent.CodeInvalidRequest, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e, err := readEnvelope(c.src)
			if e != nil {
				t.Errorf("%v", e)
			}
			wantError(t, err, c.code, 100+c.offset)
		})
	}
}

// A value that is too deep for us and not for the decoder is still a value: the envelope in
// an envelope may hold a payload of the full depth.
func TestTheDepthOfAValueIsItsReadersBusiness(t *testing.T) {
	t.Parallel()
	inner := `{"payload":` + nested(`{"a":`, "{}", "}", intent.MaxDepth-1) + `}`
	outer, err := readEnvelope(`{"payload":` + inner + `}`)
	if err != nil {
		t.Fatal(err)
	}
	e, err := intent.ReadEnvelope(outer["payload"], "payload", envelopeMembers)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := intent.ReadPayload(e["payload"], 0); err != nil {
		t.Errorf("%v", err)
	}
	wantError(t, outer["payload"].Check(), intent.CodeTooDeep, int64(100+len(`{"payload":{"payload":`)+127*len(`{"a":`)))
}

func TestAMemberIsReadAsWhatItIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, value string
		read        func(intent.Envelope, string) (string, error)
		code        intent.Code
		offset      int64
	}{
		{"a number for a text", ` 7`, intent.Envelope.Text, intent.CodeInvalidRequest, 1},
		{"a boolean for a text", `false`, intent.Envelope.Text, intent.CodeInvalidRequest, 0},
		{"an object for a text", `{"a":1}`, intent.Envelope.Text, intent.CodeInvalidRequest, 0},
		{"a broken object for a text", `{"a":1,"a":1}`, intent.Envelope.Text, intent.CodeDuplicateMember, 7},
		{"a lone surrogate in a text", `"ab\ud800"`, intent.Envelope.Text, intent.CodeLoneSurrogate, 3},
		{"a text that is not UTF-8", "\"ab\xff\"", intent.Envelope.Text, intent.CodeInvalidUTF8, 3},
		{"an array for a name", `[]`, intent.Envelope.Name, intent.CodeInvalidRequest, 0},
		{"an empty name", `""`, intent.Envelope.Name, intent.CodeInvalidName, 1},
		{"a name with a space", `"a b"`, intent.Envelope.Name, intent.CodeInvalidName, 2},
		{"a name with an escaped space", `"\u0061\u0020b"`, intent.Envelope.Name, intent.CodeInvalidName, 7},
		{"a name with a letter beyond the BMP", `"a\ud83d\ude00"`, intent.Envelope.Name, intent.CodeInvalidName, 2},
		{"a name that ends in a dot", `"\u0061."`, intent.Envelope.Name, intent.CodeInvalidName, 7},
		{"an empty key", `""`, intent.Envelope.RequestKey, intent.CodeInvalidRequestKey, 1},
		{"a key with a line feed", `"\"\n"`, intent.Envelope.RequestKey, intent.CodeInvalidRequestKey, 3},
		{"a key of Writ's", `"writ:a"`, intent.Envelope.RequestKey, intent.CodeReservedRequestKey, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			e := intent.Envelope{"tool": {Raw: []byte(c.value), Offset: 100}}
			s, err := c.read(e, "tool")
			if s != "" {
				t.Errorf("%q", s)
			}
			wantRefusal(t, err, c.code, 100+c.offset)
		})
	}
}

func TestAnyOrderAndSpellingOfAnEnvelopeIsTheSame(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		members := map[string]any{}
		for _, name := range envelopeMembers {
			if rapid.Bool().Draw(t, name) {
				members[name] = drawTree(t, 3)
			}
		}
		src := spell(t, members)
		e, err := readEnvelope(src)
		if err != nil || len(e) != len(members) {
			t.Fatalf("%s: %v, %v", src, e, err)
		}
		for name, tree := range members {
			got, err := intent.Canonicalize(e[name].Raw)
			want, bad := intent.Canonicalize([]byte(spell(t, tree)))
			if err != nil || bad != nil || string(got) != string(want) {
				t.Errorf("%s: %s is %s, %v; want %s, %v", src, name, got, err, want, bad)
			}
			if v := e[name]; string(v.Raw) != src[v.Offset-100:v.Offset-100+int64(len(v.Raw))] {
				t.Errorf("%s: %s does not stand at %d", src, name, v.Offset)
			}
		}
	})
}
