package codec_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"writ/codec"
	"writ/intent"
)

// entry is a key of 32 equal bytes as it is configured.
func entry(id string, b byte) string {
	return id + ":" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{b}, 32))
}

func keys(t testing.TB, entries ...string) codec.Keys {
	t.Helper()
	k, err := codec.ParseKeys(strings.Join(entries, ","))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func plain() *commonpb.Payload {
	return &commonpb.Payload{
		Metadata: map[string][]byte{converter.MetadataEncoding: []byte("json/plain"), "messageType": []byte("CANARY-type")},
		Data:     []byte(`{"card":"CANARY-data"}`),
	}
}

func seal(t testing.TB, k codec.Keys, p *commonpb.Payload) *commonpb.Payload {
	t.Helper()
	sealed, err := k.Codec().Encode([]*commonpb.Payload{p})
	if err != nil {
		t.Fatal(err)
	}
	return sealed[0]
}

func open(k codec.Keys, p *commonpb.Payload) (*commonpb.Payload, error) {
	opened, err := k.Codec().Decode([]*commonpb.Payload{p})
	if err != nil {
		return nil, err
	}
	return opened[0], nil
}

func TestASealedPayloadShowsNothingOfItselfAndOpensToWhatItWas(t *testing.T) {
	t.Parallel()
	k := keys(t, entry("a", 1))
	sealed := seal(t, k, plain())
	raw, err := proto.Marshal(sealed)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Contains(raw, []byte("CANARY")) || bytes.Contains(raw, []byte("json/plain")) {
		t.Errorf("the sealed payload shows %q", raw)
	}
	opened, err := open(k, sealed)
	if err != nil || !proto.Equal(opened, plain()) {
		t.Errorf("it opens to %v, %v", opened, err)
	}
}

func TestTheSamePayloadIsNeverSealedToTheSameBytesTwice(t *testing.T) {
	t.Parallel()
	k := keys(t, entry("a", 1))
	if bytes.Equal(seal(t, k, plain()).Data, seal(t, k, plain()).Data) {
		t.Error("two seals of one payload are equal")
	}
}

func TestTheFirstKeySealsAndEveryKeyOpens(t *testing.T) {
	t.Parallel()
	before, after := keys(t, entry("old", 1)), keys(t, entry("new", 2), entry("old", 1))
	if opened, err := open(after, seal(t, before, plain())); err != nil || !proto.Equal(opened, plain()) {
		t.Errorf("under the old key: %v, %v", opened, err)
	}
	if _, err := open(before, seal(t, after, plain())); intent.CodeOf(err) != intent.CodePayloadKeyMissing {
		t.Errorf("without the new key: %v", err)
	}
}

func TestWhatDoesNotOpenIsRefusedWithACodeAndNothingOfIt(t *testing.T) {
	t.Parallel()
	k := keys(t, entry("a", 1), entry("b", 2))
	changed := func(change func(p *commonpb.Payload)) *commonpb.Payload {
		p := seal(t, k, plain())
		change(p)
		return p
	}
	for name, c := range map[string]struct {
		keys codec.Keys
		sent *commonpb.Payload
		want intent.Code
	}{
		"no keys at all":         {codec.Keys{}, seal(t, k, plain()), intent.CodePayloadKeyMissing},
		"no key id":              {k, changed(func(p *commonpb.Payload) { delete(p.Metadata, "encryption-key-id") }), intent.CodePayloadKeyMissing},
		"another key of that id": {keys(t, entry("a", 3)), seal(t, k, plain()), intent.CodePayloadNotAuthentic},
		"the id of another key":  {k, changed(func(p *commonpb.Payload) { p.Metadata["encryption-key-id"] = []byte("b") }), intent.CodePayloadNotAuthentic},
		// The same key under two ids: only what is bound to the seal tells them apart.
		"a renamed key":    {keys(t, entry("z", 1)), changed(func(p *commonpb.Payload) { p.Metadata["encryption-key-id"] = []byte("z") }), intent.CodePayloadNotAuthentic},
		"one bit changed":  {k, changed(func(p *commonpb.Payload) { p.Data[len(p.Data)-1] ^= 1 }), intent.CodePayloadNotAuthentic},
		"cut":              {k, changed(func(p *commonpb.Payload) { p.Data = p.Data[:5] }), intent.CodePayloadNotAuthentic},
		"nothing in it":    {k, changed(func(p *commonpb.Payload) { p.Data = nil }), intent.CodePayloadNotAuthentic},
		"plain text in it": {k, changed(func(p *commonpb.Payload) { p.Data = plain().Data }), intent.CodePayloadNotAuthentic},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			opened, err := open(c.keys, c.sent)
			if opened != nil || intent.CodeOf(err) != c.want || strings.Contains(err.Error(), "CANARY") {
				t.Errorf("it opens to %v, %v", opened, err)
			}
			if !codec.Unopened(fmt.Errorf("around it: %w", err)) {
				t.Errorf("%v does not count as unopened", err)
			}
		})
	}
	if codec.Unopened(errors.New("another")) || codec.Unopened(nil) {
		t.Error("every error counts as unopened")
	}
}

func TestWhatWasStoredBeforeThereWereKeysIsTakenAsItIs(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]codec.Keys{"with keys": keys(t, entry("a", 1)), "without keys": {}} {
		if opened, err := open(k, plain()); err != nil || !proto.Equal(opened, plain()) {
			t.Errorf("%s it opens to %v, %v", name, opened, err)
		}
	}
	if sent := seal(t, codec.Keys{}, plain()); !proto.Equal(sent, plain()) {
		t.Errorf("without keys %v is sent", sent)
	}
}

func TestKeysAreReadAndTheFirstOneSeals(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"commas":           entry("b", 1) + "," + entry("a:1", 2),
		"lines and spaces": "\n " + entry("b", 1) + " \r\n" + entry("a:1", 2) + ",\n",
	} {
		k, err := codec.ParseKeys(text)
		if err != nil || !slices.Equal(k.IDs(), []string{"b", "a:1"}) || k.Empty() {
			t.Errorf("%s: %v, %v", name, k.IDs(), err)
		}
		if id := seal(t, k, plain()).Metadata["encryption-key-id"]; string(id) != "b" {
			t.Errorf("%s: sealed under %s", name, id)
		}
	}
}

func TestKeysThatCannotBeUsedAreRefusedWithoutShowingThem(t *testing.T) {
	t.Parallel()
	secret := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{7}, 32))
	for name, c := range map[string]struct{ text, want string }{
		"nothing":                {" \n,", "no payload key"},
		"no id":                  {secret, "payload key 1 has no id"},
		"an empty id":            {":" + secret, "the id of payload key 1 is not a name"},
		"the wrong way round":    {entry("a", 1) + "," + secret + ":b", "the id of payload key 2 is not a name"},
		"a key that is too long": {"a:" + base64.StdEncoding.EncodeToString(make([]byte, 33)), "payload key 1 is not 32 bytes"},
		"half a key":             {"a:" + secret[:20], "payload key 1 is not 32 bytes"},
		"no base64":              {"a:" + secret[:43] + "!", "payload key 1 is not 32 bytes"},
		"one id twice":           {"a:" + secret + "," + entry("a", 2), "payload key 2 has the id of an earlier one"},
	} {
		_, err := codec.ParseKeys(c.text)
		if intent.CodeOf(err) != intent.CodeInvalidConfig || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret[:8]) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNoWayToPrintKeysShowsThem(t *testing.T) {
	t.Parallel()
	k := keys(t, entry("a", 1), entry("b", 2))
	inside := struct{ Keys codec.Keys }{k}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%d", "%x", "%q"} {
		for _, value := range []any{k, &k, inside} {
			if got := fmt.Sprintf(verb, value); !strings.Contains(got, "payload keys [a b]") || strings.Contains(got, "0101") {
				t.Errorf("%s prints %s", verb, got)
			}
		}
	}
	if got, err := json.Marshal(inside); err != nil || string(got) != `{"Keys":{}}` {
		t.Errorf("JSON shows %s, %v", got, err)
	}
}
