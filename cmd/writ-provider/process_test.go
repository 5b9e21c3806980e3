package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"writ/internal/sandbox"
)

// binary is the program under test, built by TestMain.
var binary string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		folder, err := os.MkdirTemp("", "writ-provider-test-")
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		defer os.RemoveAll(folder)
		binary = filepath.Join(folder, "writ-provider")
		if out, err := exec.Command("go", "build", "-o", binary, ".").CombinedOutput(); err != nil {
			fmt.Fprintf(os.Stderr, "build: %v\n%s", err, out)
			return 1
		}
		return m.Run()
	}())
}

// process is a running writ-provider.
type process struct {
	cmd    *exec.Cmd
	url    string
	stderr *bytes.Buffer
}

// start runs the binary and waits for its ready line.
func start(t *testing.T, ledger string, more ...string) *process {
	t.Helper()
	args := append([]string{"--listen", "127.0.0.1:0", "--ledger", ledger, "-o", "json"}, more...)
	p := &process{cmd: exec.Command(binary, args...), stderr: new(bytes.Buffer)}
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if p.cmd.ProcessState == nil {
			_ = p.cmd.Process.Kill()
			_ = p.cmd.Wait()
		}
	})
	line, err := bufio.NewReader(stdout).ReadBytes('\n')
	var ready struct{ Address, Ledger string }
	if err != nil || json.Unmarshal(line, &ready) != nil || ready.Ledger != ledger {
		t.Fatalf("ready line is %q, %v; stderr: %s", line, err, p.stderr)
	}
	p.url = ready.Address
	return p
}

// oneShot does not reuse connections: on a reused one net/http sends keyed requests again by itself.
var oneShot = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

type answer struct {
	status   int
	body     string
	replayed bool
}

func (p *process) capture(key string) (answer, error) {
	body := fmt.Sprintf(`{"payment_id":"pay_%s","amount":"125.00","currency":"EUR"}`, key)
	req, err := http.NewRequest(http.MethodPost, p.url+"/v1/payments/capture", strings.NewReader(body))
	if err != nil {
		return answer{}, err
	}
	req.Header.Set("Idempotency-Key", key)
	resp, err := oneShot.Do(req)
	if err != nil {
		return answer{}, err
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	return answer{resp.StatusCode, string(got), resp.Header.Get("Idempotent-Replayed") == "true"}, err
}

func TestAKilledProviderKeepsEveryEffectThatItAnswered(t *testing.T) {
	t.Parallel()
	ledger := filepath.Join(t.TempDir(), "ledger.jsonl")
	answered := make(map[string]answer) // over all lives
	sent := 0
	for life := range 3 {
		p := start(t, ledger)
		sent += sendUntilKilled(t, p, life, answered)
	}

	p := start(t, ledger)
	entries, err := sandbox.NewClient(p.url).Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	inLedger := make(map[string]sandbox.Entry)
	for _, entry := range entries {
		if _, twice := inLedger[entry.Key]; twice {
			t.Errorf("%s was performed twice", entry.Key)
		}
		inLedger[entry.Key] = entry
	}
	for key, first := range answered {
		if entry, found := inLedger[key]; !found || string(entry.Answer.Body) != first.body {
			t.Errorf("%s was answered with %s, the ledger has %+v", key, first.body, entry)
		}
	}
	// Send everything again, what was answered and what was not: one effect each, the first answer where there was one.
	for life := range 3 {
		for sender := range senders {
			key := keyOf(life, sender, 0)
			again, err := p.capture(key)
			first, was := answered[key]
			_, performed := inLedger[key]
			if err != nil || again.status != http.StatusCreated || again.replayed != performed || was && again.body != first.body {
				t.Errorf("%s again: %+v %v, first %+v, performed before: %v", key, again, err, first, performed)
			}
		}
	}
	t.Logf("%d sent, %d answered, %d in the ledger", sent, len(answered), len(entries))
	if len(entries) < len(answered) || len(answered) == 0 {
		t.Errorf("the ledger has %d effects, %d were answered", len(entries), len(answered))
	}
}

const senders = 16

func keyOf(life, sender, n int) string { return fmt.Sprintf("k-%d-%d-%d", life, sender, n) }

// sendUntilKilled loads the provider from many senders, kills it after a number of answers while the load goes on, and
// adds the answers. It returns how many requests were sent.
func sendUntilKilled(t *testing.T, p *process, life int, answered map[string]answer) int {
	t.Helper()
	const killAfter = 60
	var mu sync.Mutex
	sent, got := 0, 0
	kill := make(chan struct{})
	var load sync.WaitGroup
	for sender := range senders {
		load.Go(func() {
			for n := 0; ; n++ {
				key := keyOf(life, sender, n)
				mu.Lock()
				sent++
				mu.Unlock()
				a, err := p.capture(key)
				if err != nil {
					return // killed
				}
				mu.Lock()
				answered[key] = a
				if got++; got == killAfter {
					close(kill)
				}
				mu.Unlock()
				if a.status != http.StatusCreated {
					t.Errorf("%s: %+v", key, a)
				}
			}
		})
	}
	select {
	case <-kill:
	case <-time.After(time.Minute):
		t.Error("the provider answers too slowly to be killed under load")
	}
	if err := p.cmd.Process.Kill(); err != nil {
		t.Error(err)
	}
	load.Wait()
	_ = p.cmd.Wait() // "signal: killed"
	return sent
}

func TestASignalReleasesHangingRequestsAndEndsWithZero(t *testing.T) {
	t.Parallel()
	for _, signal := range []os.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			t.Parallel()
			p := start(t, filepath.Join(t.TempDir(), "ledger.jsonl"))
			books := sandbox.NewClient(p.url)
			if _, err := books.AddFault(t.Context(), sandbox.Fault{Fault: sandbox.FaultHangAfterAct}); err != nil {
				t.Fatal(err)
			}
			hanging := make(chan answer, 1)
			go func() {
				a, err := p.capture("k-1")
				if err != nil {
					t.Error(err)
				}
				hanging <- a
			}()
			filter := sandbox.RequestFilter{Key: "k-1", State: sandbox.StateHanging}
			if _, err := books.AwaitRequests(t.Context(), filter, 1, 20*time.Second); err != nil {
				t.Fatal(err)
			}
			if err := p.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			if a := <-hanging; a.status != http.StatusCreated {
				t.Errorf("the hanging request got %+v", a)
			}
			if err := p.cmd.Wait(); err != nil {
				t.Errorf("the provider ends with %v; stderr: %s", err, p.stderr)
			}
		})
	}
}

func TestEachReasonNotToStartHasItsOwnCode(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	folder := t.TempDir()
	inUse, corrupt, blocked := filepath.Join(folder, "in-use"), filepath.Join(folder, "corrupt"), filepath.Join(folder, "blocked")
	start(t, inUse)
	for _, path := range []string{corrupt, blocked} {
		if err := os.WriteFile(path, []byte("nonsense\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const free = "127.0.0.1:0"
	for _, c := range []struct {
		code string
		exit int
		args []string
	}{
		{"port_in_use", exitInfrastructure, []string{"--listen", taken.Addr().String(), "--ledger", filepath.Join(folder, "new")}},
		{"listen_failed", exitInfrastructure, []string{"--listen", "192.0.2.1:0", "--ledger", filepath.Join(folder, "new")}}, // RFC 5737: nobody has it
		{"ledger_in_use", exitInfrastructure, []string{"--listen", free, "--ledger", inUse}},
		{"ledger_corrupt", exitInfrastructure, []string{"--listen", free, "--ledger", corrupt}},
		{"ledger_not_writable", exitInfrastructure, []string{"--listen", free, "--ledger", filepath.Join(blocked, "ledger")}},
		{"usage", exitUsage, []string{"--port", "1"}},
		{"usage", exitUsage, []string{"--key-window", "-1s", "--ledger", filepath.Join(folder, "new")}},
		{"usage", exitUsage, []string{"now"}},
		{"usage", exitUsage, []string{"--listen", free, "--ledger", ""}},
		{"usage", exitUsage, []string{"--listen", "nonsense", "--ledger", filepath.Join(folder, "new")}},
		{"usage", exitUsage, []string{"--listen", "", "--ledger", filepath.Join(folder, "new")}},
		{"usage", exitUsage, []string{"--listen", "127.0.0.1:99999", "--ledger", filepath.Join(folder, "new")}},
		{"usage", exitUsage, []string{"--listen", "127.0.0.1:-1", "--ledger", filepath.Join(folder, "new")}},
		{"usage", exitUsage, []string{"--listen", "127.0.0.1:port", "--ledger", filepath.Join(folder, "new")}},
	} {
		var stdout, stderr bytes.Buffer
		exit := run(t.Context(), append([]string{"-o", "json"}, c.args...), &stdout, &stderr)
		var said struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal(stderr.Bytes(), &said); err != nil || said.Error.Code != c.code || said.Error.Message == "" || exit != c.exit {
			t.Errorf("%v: exit %d, stderr %s, want %d and %s", c.args, exit, &stderr, c.exit, c.code)
		}
		if stdout.Len() != 0 {
			t.Errorf("%v: stdout is %s", c.args, &stdout)
		}
	}
	var stderr bytes.Buffer
	if exit := run(t.Context(), []string{"-o", "xml"}, io.Discard, &stderr); exit != exitUsage || !strings.HasPrefix(stderr.String(), "writ-provider: usage: ") {
		t.Errorf("an unknown form of output: exit %d, %s", exit, &stderr)
	}
}

func TestTheFlagsAreTheProvidersSettings(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		flags []string
		want  sandbox.Settings
	}{
		{nil, sandbox.Settings{KeyWindow: "0s"}},
		{[]string{"--key-window", "90s", "--business-rules"}, sandbox.Settings{KeyWindow: "1m30s", BusinessRules: true}},
	} {
		p := start(t, filepath.Join(t.TempDir(), "ledger.jsonl"), c.flags...)
		if got, err := sandbox.NewClient(p.url).Settings(t.Context()); err != nil || got != c.want {
			t.Errorf("%v: the settings are %+v, %v", c.flags, got, err)
		}
	}
}

func TestHelpShowsExamples(t *testing.T) {
	t.Parallel()
	var stdout bytes.Buffer
	if exit := run(t.Context(), []string{"--help"}, &stdout, io.Discard); exit != exitOK || !strings.Contains(stdout.String(), "Examples:") {
		t.Errorf("exit %d: %s", exit, &stdout)
	}
}
