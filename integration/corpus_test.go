package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"writ"
	"writ/internal/intake"
	"writ/tools"
)

// answer is what a door made of a case: the payload as it was stored and as the tool
// received it, or the rejection.
type answer struct {
	stored, delivered []byte
	code              string
	offset            int64
}

// Every case of the corpus goes through the library and through the command line, to a tool
// that answers with the payload that it received.
func TestTheCorpusGoesThroughTheLibraryAndTheCommandLineWithTheSameBytesAndCodes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	mirror := func(_ context.Context, inv tools.Invocation) (tools.Result, error) {
		return tools.Result{MediaType: tools.MediaTypeJSON, Body: inv.Payload()}, nil
	}
	w.host(t,
		tools.New(tools.Spec{Name: "intake.any"}, mirror),
		tools.New(tools.Spec{Name: "intake.object", InputSchema: json.RawMessage(`{"type":"object"}`)}, mirror))
	client := w.dial(t)
	cases := intake.Cases(t)
	if len(cases) < 150 {
		t.Fatalf("there are only %d cases", len(cases))
	}
	folder := t.TempDir()
	next := make(chan int)
	var doors sync.WaitGroup
	for range 4 {
		doors.Go(func() {
			for i := range next {
				file := filepath.Join(folder, strconv.Itoa(i))
				if err := os.WriteFile(file, cases[i].Input, 0o600); err != nil {
					t.Error(err)
					return
				}
				agree(t, "the library", cases[i], throughTheLibrary(t, client, cases[i]))
				agree(t, "the command line", cases[i], w.throughTheCommandLine(t, file, cases[i]))
			}
		})
	}
	for i := range cases {
		next <- i
	}
	close(next)
	doors.Wait()
}

func agree(t *testing.T, door string, c intake.Case, got answer) {
	t.Helper()
	switch {
	case c.Code != "" && (got.code != c.Code || got.offset != c.Offset):
		t.Errorf("%s, %s: %q at byte %d, want %q at byte %d", c.Name, door, got.code, got.offset, c.Code, c.Offset)
	case c.Code == "" && got.code != "":
		t.Errorf("%s, %s: %q at byte %d", c.Name, door, got.code, got.offset)
	case c.Code == "" && !(bytes.Equal(got.stored, c.Canonical) && bytes.Equal(got.delivered, c.Canonical)):
		t.Errorf("%s, %s: stored %.200q, delivered %.200q, want %.200q", c.Name, door, got.stored, got.delivered, c.Canonical)
	}
}

// toolOf is the tool that a case of a payload alone is for.
func toolOf(c intake.Case) string {
	if c.Schema {
		return "intake.object"
	}
	return "intake.any"
}

func throughTheLibrary(t *testing.T, client *writ.Client, c intake.Case) answer {
	t.Helper()
	request, err := writ.Request{Tool: toolOf(c), Payload: c.Input, Principal: "intake"}, error(nil)
	if c.Door == intake.DoorRequest {
		request, err = writ.ParseRequest(c.Input)
	}
	var done writ.Execution
	if err == nil {
		done, err = client.Execute(t.Context(), request)
	}
	var failure *writ.Error
	if errors.As(err, &failure) {
		return answer{code: string(failure.Code), offset: failure.Offset}
	}
	if err != nil || done.Answer == nil {
		t.Errorf("%s: %v, answer %v", c.Name, err, done.Answer)
		return answer{}
	}
	return answer{stored: done.Intent.Payload, delivered: done.Answer.JSON}
}

func (w *world) throughTheCommandLine(t *testing.T, file string, c intake.Case) answer {
	t.Helper()
	arguments := []string{"execute", toolOf(c), "--payload", "@" + file, "--principal", "intake"}
	if c.Door == intake.DoorRequest {
		arguments = []string{"execute", "--request", "@" + file}
	}
	p, err := launch("writ", program("writ"), w.environment(), append(arguments, "-o", "json")...)
	if err != nil {
		t.Error(err)
		return answer{}
	}
	status, err := p.awaitEnd()
	var said struct {
		writ.Execution
		Error *struct {
			Code   string
			Offset *int64 // absent where a byte has no meaning
		}
	}
	if err == nil {
		err = json.Unmarshal(p.stdout.bytes(), &said)
	}
	switch {
	case err != nil:
		t.Errorf("%s: status %d, %v\n%s", c.Name, status, err, p.transcript())
	case said.Error != nil && said.Error.Offset == nil:
		return answer{code: said.Error.Code, offset: -1}
	case said.Error != nil:
		return answer{code: said.Error.Code, offset: *said.Error.Offset}
	case said.Answer == nil:
		t.Errorf("%s: no answer\n%s", c.Name, p.transcript())
	default:
		return answer{stored: said.Intent.Payload, delivered: said.Answer.JSON}
	}
	return answer{}
}
