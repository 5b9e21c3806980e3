package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/intent"
)

func TestThePayloadIsTheArgumentAFileOrStandardInput(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "capture.json")
	if err := os.WriteFile(file, []byte(`{"from":"file"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ argument, want string }{
		{`{"from":"argument"}`, `{"from":"argument"}`},
		{"", ""},
		{"@" + file, `{"from":"file"}`},
		{"-", `{"from":"standard input"}`},
	} {
		got, err := readPayload(t.Context(), c.argument, strings.NewReader(`{"from":"standard input"}`))
		if err != nil || string(got) != c.want {
			t.Errorf("%q: %q, %v", c.argument, got, err)
		}
	}
}

func TestAPayloadThatCannotBeReadIsTheUsersMistake(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "missing.json")
	for argument, code := range map[string]string{
		"@" + missing:     "payload_unreadable",
		"@" + t.TempDir(): "payload_unreadable",
		"@":               "usage",
	} {
		r := command(t, "execute", "echo", "--payload", argument, "-o", "json", "--database-url", nowhere)
		var f failure
		r.document(t, &f)
		if r.status != 2 || f.Error.Code != code || f.Error.Effect != "not_applied" {
			t.Errorf("%s: status %d, %+v", argument, r.status, f.Error)
		}
	}
}

// endless counts what is read of it.
type endless struct{ read int }

func (e *endless) Read(b []byte) (int, error) {
	e.read += len(b)
	return len(b), nil
}

func TestAPayloadThatIsTooLargeIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	var source endless
	_, err := readPayload(t.Context(), "-", &source)
	if intent.CodeOf(err) != intent.CodePayloadTooLarge {
		t.Errorf("error %v", err)
	}
	if source.read > 2*intent.MaxPayload {
		t.Errorf("%d bytes were read", source.read)
	}
	r := commandWithInput(t, strings.Repeat(" ", intent.MaxPayload+1), "execute", "echo", "--payload", "-", "--database-url", nowhere)
	if r.status != 2 || !strings.Contains(r.stderr, "payload_too_large") {
		t.Errorf("status %d, %s", r.status, r.stderr)
	}
}

func TestTheTimeoutOfExecuteBoundsTheWaitForThePayload(t *testing.T) {
	t.Parallel()
	silent, _ := io.Pipe() // whose writer never writes
	defer silent.Close()
	var stdout, stderr bytes.Buffer
	status := run(t.Context(), []string{"execute", "echo", "--payload", "-", "--timeout", "10ms", "-o", "json", "--database-url", nowhere}, silent, &stdout, &stderr)
	var f failure
	ran{stdout: stdout.String(), stderr: stderr.String()}.document(t, &f)
	if status != 1 || f.Error.Code != "interrupted" || f.Error.Effect != "not_applied" || !f.Error.TryAgain {
		t.Errorf("status %d, %s", status, stdout.String())
	}
}

func TestAnInterruptEndsTheWaitForAPayload(t *testing.T) {
	t.Parallel()
	silent, _ := io.Pipe() // whose writer never writes
	defer silent.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := readPayload(ctx, "-", silent)
	if intent.CodeOf(err) != intent.CodeInterrupted || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}
