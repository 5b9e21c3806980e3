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
		got, err := payloadOnly(intent.MaxPayload).read(t.Context(), c.argument, strings.NewReader(`{"from":"standard input"}`))
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
	_, err := payloadOnly(intent.MaxPayload).read(t.Context(), "-", &source)
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
	_, err := payloadOnly(intent.MaxPayload).read(ctx, "-", silent)
	if intent.CodeOf(err) != intent.CodeInterrupted || !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

func TestTheEnvironmentSaysHowLargeAPayloadMayBe(t *testing.T) {
	file := filepath.Join(t.TempDir(), "payload.json")
	payload := []byte(`{"a":"` + strings.Repeat("x", 2<<20) + `"}`)
	if err := os.WriteFile(file, payload, 0o600); err != nil {
		t.Fatal(err)
	}
	request := filepath.Join(t.TempDir(), "request.json")
	if err := os.WriteFile(request, []byte(`{"tool":"echo","principal":"shop","payload":`+string(payload)+`}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for limit, want := range map[string]intent.Code{
		"4194304": intent.CodeDatabaseUnavailable, // it got as far as that
		"":        intent.CodePayloadTooLarge,
		"100":     intent.CodePayloadTooLarge,
		"4 MiB":   intent.CodeInvalidConfig,
	} {
		t.Setenv("WRIT_MAX_PAYLOAD", limit)
		for _, args := range [][]string{{"echo", "--payload", "@" + file}, {"--request", "@" + request}} {
			r := command(t, append([]string{"execute", "-o", "json", "--database-url", nowhere}, args...)...)
			var f failure
			r.document(t, &f)
			if f.Error.Code != string(want) || strings.Contains(r.stderr, "TEMPORAL_") {
				t.Errorf("WRIT_MAX_PAYLOAD=%s: %+v", limit, f.Error)
			}
		}
	}
}
