package writ

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/temporal"

	"writ/codec"
	"writ/intent"
)

func TestPayloadKeysComeFromAVariableOrAFile(t *testing.T) {
	key := base64.StdEncoding.EncodeToString([]byte("CANARY CANARY CANARY CANARY 1234"))
	file := filepath.Join(t.TempDir(), "keys")
	if err := os.WriteFile(file, []byte("new:"+key+"\nold:"+key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	empty := filepath.Join(t.TempDir(), "empty")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		text, file string
		want       []string
		refused    string
	}{
		"none":                {want: []string{}},
		"the variable":        {text: "a:" + key, want: []string{"a"}},
		"the file":            {file: file, want: []string{"new", "old"}},
		"both":                {text: "a:" + key, file: file, refused: "both set"},
		"no such file":        {file: file + "s", refused: "WRIT_PAYLOAD_KEYS_FILE cannot be read"},
		"an empty file":       {file: empty, refused: "WRIT_PAYLOAD_KEYS_FILE cannot be used"},
		"a key without an id": {text: key, refused: "WRIT_PAYLOAD_KEYS cannot be used"},
	} {
		t.Setenv("WRIT_PAYLOAD_KEYS", c.text)
		t.Setenv("WRIT_PAYLOAD_KEYS_FILE", c.file)
		cfg, err := FromEnvironment()
		if c.refused != "" {
			if intent.CodeOf(err) != intent.CodeInvalidConfig || !strings.Contains(err.Error(), c.refused) || strings.Contains(err.Error(), key[:8]) {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		if err != nil || !slices.Equal(cfg.PayloadKeys.IDs(), c.want) {
			t.Errorf("%s: %v, %v", name, cfg.PayloadKeys, err)
		}
	}
}

func TestWithKeysPayloadsAndFailuresAreSealedAndWithoutThemOnlyRefused(t *testing.T) {
	t.Parallel()
	keys, err := codec.ParseKeys("a:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	with, without := Config{PayloadKeys: keys}, Config{}
	for _, cfg := range []*Config{&with, &without} {
		if err := cfg.seal(); err != nil {
			t.Fatal(err)
		}
	}
	sealed, err := with.Temporal.DataConverter.ToPayload("CANARY")
	if err != nil {
		t.Fatal(err)
	}
	failure := with.Temporal.FailureConverter.ErrorToFailure(temporal.NewApplicationError("CANARY", "kind"))
	if shown := sealed.String() + failure.String(); strings.Contains(shown, "CANARY") {
		t.Errorf("Temporal stores %s", shown)
	}
	var into string
	if err := without.Temporal.DataConverter.FromPayload(sealed, &into); intent.CodeOf(err) != intent.CodePayloadKeyMissing {
		t.Errorf("without the key it is %q, %v", into, err)
	}
	if err := with.Temporal.DataConverter.FromPayload(sealed, &into); err != nil || into != "CANARY" {
		t.Errorf("with the key it is %q, %v", into, err)
	}
}

func TestTheHostsOwnConvertersAreKeptOrRefusedAndNeverDropped(t *testing.T) {
	t.Parallel()
	keys, err := codec.ParseKeys("a:" + base64.StdEncoding.EncodeToString(make([]byte, 32)))
	if err != nil {
		t.Fatal(err)
	}
	zip := converter.NewCodecDataConverter(converter.GetDefaultDataConverter(), converter.NewZlibCodec(converter.ZlibCodecOptions{AlwaysEncode: true}))
	own := Config{Temporal: client.Options{DataConverter: zip}}
	if err := own.seal(); err != nil || own.Temporal.DataConverter != zip || own.Temporal.FailureConverter != nil {
		t.Errorf("without keys the host's converter became %v, %v", own.Temporal.DataConverter, err)
	}
	under := Config{PayloadKeys: keys, Temporal: client.Options{DataConverter: zip}}
	if err := under.seal(); err != nil {
		t.Fatal(err)
	}
	sealed, err := under.Temporal.DataConverter.ToPayload("text")
	if err != nil {
		t.Fatal(err)
	}
	opened, err := keys.Codec().Decode([]*commonpb.Payload{sealed})
	if err != nil || string(opened[0].GetMetadata()[converter.MetadataEncoding]) != "binary/zlib" {
		t.Errorf("under the seal is %v, %v", opened, err)
	}
	failures := temporal.NewDefaultFailureConverter(temporal.DefaultFailureConverterOptions{})
	_, err = Dial(t.Context(), Config{PayloadKeys: keys, Temporal: client.Options{FailureConverter: failures}})
	if intent.CodeOf(err) != intent.CodeInvalidConfig {
		t.Errorf("a failure converter beside keys: %v", err)
	}
}
