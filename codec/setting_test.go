package codec_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/codec"
	"writ/intent"
)

func TestASecretThatCannotBeReadIsRefusedWithoutShowingIt(t *testing.T) {
	const secret = "2026-12:CANARYCANARYCANARYCANARYCANARYCANARYCANARYC="
	folder := t.TempDir()
	large := filepath.Join(folder, "large")
	if err := os.WriteFile(large, make([]byte, 1<<20+1), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ text, file, want string }{
		"the secret for the name of its file": {file: secret, want: "no such file"},
		"a secret too long for a name":        {file: strings.Repeat(secret, 200), want: "too long"},
		"a folder":                            {file: folder, want: "is a directory"},
		"a file without an end":               {file: "/dev/zero", want: "more than 1 MiB"},
		"a large file":                        {file: large, want: "more than 1 MiB"},
		"both":                                {text: secret, file: large, want: "both set"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv("WRIT_CODEC_TOKENS", c.text)
			t.Setenv("WRIT_CODEC_TOKENS_FILE", c.file)
			text, _, err := codec.Setting("WRIT_CODEC_TOKENS")
			if intent.CodeOf(err) != intent.CodeInvalidConfig || !strings.Contains(err.Error(), c.want) || text != "" {
				t.Fatalf("%v, want %q", err, c.want)
			}
			if strings.Contains(err.Error(), "CANARY") {
				t.Errorf("%v shows the secret", err)
			}
		})
	}
}
