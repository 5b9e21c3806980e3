package integration

import (
	"context"
	"go/format"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"

	"writ"
)

// fenced returns the contents of the README's code blocks of one language.
func fenced(t *testing.T, language string) []string {
	t.Helper()
	blocks := regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(repositoryFile(t, "README.md"), -1)
	texts := make([]string, len(blocks))
	for i, block := range blocks {
		texts[i] = block[1]
	}
	return texts
}

func TestTheReadmeBeginsWithExactlyTwoCommands(t *testing.T) {
	t.Parallel()
	if blocks := fenced(t, ""); len(blocks) == 0 || blocks[0] != "make demo\nmake test\n" {
		t.Errorf("the first commands of the README are %q", blocks)
	}
}

// helpdesk is the provider of the README's tool: it opens a ticket for every key.
type helpdesk struct {
	mu       sync.Mutex
	requests []string // key and body
}

func (h *helpdesk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.requests = append(h.requests, r.URL.Path+" "+r.Header.Get("Idempotency-Key")+" "+string(body))
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = w.Write([]byte(`{"ticket":"T-1"}`))
}

func TestTheToolOfTheReadmeRuns(t *testing.T) {
	t.Parallel()
	var programs []string
	for _, block := range fenced(t, "go") {
		if formatted, err := format.Source([]byte(block)); err != nil || string(formatted) != block {
			t.Errorf("the README has Go that is not gofmt's: %v\n%s", err, block)
		}
		if strings.HasPrefix(block, "package main\n") {
			programs = append(programs, block)
		}
	}
	if len(programs) != 1 {
		t.Fatalf("the README has %d programs, want one", len(programs))
	}
	worker := compileProgram(t, programs[0])

	desk := &helpdesk{}
	server := httptest.NewServer(desk)
	t.Cleanup(server.Close)
	w := newWorld(t)
	p := start(t, "the README's worker", worker, append(w.environment(), "HELPDESK_URL="+server.URL))
	awaitTool(t, w, "tickets.open")

	complaint := action{"tickets.open", `{"subject":"Broken on arrival"}`}
	first := w.ask(t, complaint, "order-4711-complaint").outcome(t)
	first.completed(t)
	again := w.ask(t, complaint, "order-4711-complaint").outcome(t)
	again.completed(t)
	if string(first.Receipt) != string(again.Receipt) {
		t.Error("asking again gave another receipt")
	}
	if first.Answer == nil || string(first.Answer.JSON) != `{"ticket":"T-1"}` {
		t.Errorf("the answer is %+v", first.Answer)
	}
	desk.mu.Lock()
	defer desk.mu.Unlock()
	want := "/tickets " + string(first.Intent.IdempotencyKey) + " " + complaint.payload
	if len(desk.requests) != 1 || desk.requests[0] != want {
		t.Errorf("the helpdesk received %q, want once %q", desk.requests, want)
	}
	p.signal(syscall.SIGINT)
	if status := p.status(t); status != 0 {
		t.Errorf("the worker ends with status %d after Ctrl-C", status)
	}
}

// compileProgram compiles a program that is not in the repository as if it were.
func compileProgram(t *testing.T, text string) string {
	t.Helper()
	folder := t.TempDir()
	source, binary := filepath.Join(folder, "main.go"), filepath.Join(folder, "program")
	if err := os.WriteFile(source, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "build", "-buildvcs=false", "-o", binary, source)
	cmd.Dir = ".."
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// awaitTool waits until a worker has published the tool.
func awaitTool(t *testing.T, w *world, name string) {
	t.Helper()
	c, err := writ.Dial(t.Context(), writ.Config{DatabaseURL: w.database})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	eventually(t, "the worker publishes "+name, func(ctx context.Context) error {
		_, err := c.Tool(ctx, name)
		return err
	})
}
