package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// slowDisk is a ledger file whose flushes wait for the test.
type slowDisk struct {
	flushing chan struct{} // receives at the start of each flush
	proceed  chan error    // what each flush ends with
	written  bytes.Buffer
	flushes  int
}

func newSlowDisk() *slowDisk {
	return &slowDisk{flushing: make(chan struct{}), proceed: make(chan error)}
}

func (d *slowDisk) Write(p []byte) (int, error) { return d.written.Write(p) }
func (d *slowDisk) Close() error                { return nil }
func (d *slowDisk) Sync() error {
	d.flushes++
	d.flushing <- struct{}{}
	return <-d.proceed
}

func testEntry(key string) *Entry {
	return &Entry{
		Time: now(), Endpoint: "/v1/payments/capture", Key: key, RequestID: newID("req_"), EffectID: newID("eff_"), BodySHA256: "00",
		Body: json.RawMessage(`{"a":"<&>"}`), Answer: Answer{Status: 201, Body: json.RawMessage(`{"id":"x"}`)},
	}
}

// appendAside appends in the background and waits until the entry is pending or being flushed.
func appendAside(l *ledger, key string) <-chan error {
	done := make(chan error, 1)
	l.mu.Lock()
	before := len(l.pending)
	l.mu.Unlock()
	go func() { done <- l.append(testEntry(key)) }()
	for { // the writer is inside a flush, so what becomes pending stays so
		l.mu.Lock()
		arrived := len(l.pending) > before
		l.mu.Unlock()
		if arrived {
			return done
		}
		runtime.Gosched()
	}
}

func TestEntriesThatArriveDuringAFlushShareTheNextOne(t *testing.T) {
	t.Parallel()
	disk := newSlowDisk()
	l := startLedger(disk, nil)
	first := make(chan error, 1)
	go func() { first <- l.append(testEntry("k-0")) }()
	<-disk.flushing

	var others []<-chan error
	for i := 1; i <= 9; i++ {
		others = append(others, appendAside(l, fmt.Sprintf("k-%d", i)))
	}
	select {
	case <-first:
		t.Fatal("an entry was reported durable before its flush ended")
	default:
	}
	if n := len(l.all()); n != 0 {
		t.Fatalf("%d entries are visible before they are durable", n)
	}
	disk.proceed <- nil
	if err := <-first; err != nil {
		t.Fatal(err)
	}
	<-disk.flushing
	if n := len(l.all()); n != 1 {
		t.Fatalf("%d entries are visible, want the first one", n)
	}
	disk.proceed <- nil
	for _, done := range others {
		if err := <-done; err != nil {
			t.Fatal(err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	if disk.flushes != 2 {
		t.Errorf("%d flushes, want 2", disk.flushes)
	}
	lines, whole, torn, err := readLedger(bytes.NewReader(disk.written.Bytes()))
	if err != nil || len(lines) != 10 || torn != 0 || whole != int64(disk.written.Len()) {
		t.Errorf("the file reads as %d lines, %d torn bytes, %v", len(lines), torn, err)
	}
	for i, line := range lines {
		if want := fmt.Sprintf("k-%d", i); line.entry.Key != want || !bytes.Equal(line.line, l.all()[i]) {
			t.Errorf("line %d has key %q, want %q, the order of arrival", i+1, line.entry.Key, want)
		}
	}
}

func TestAFailedFlushFailsItsEntriesAndEveryLaterOne(t *testing.T) {
	t.Parallel()
	disk := newSlowDisk()
	l := startLedger(disk, nil)
	first := make(chan error, 1)
	go func() { first <- l.append(testEntry("k-0")) }()
	<-disk.flushing
	broken := errors.New("input/output error")
	disk.proceed <- broken
	if err := <-first; !errors.Is(err, broken) {
		t.Errorf("the append ends with %v", err)
	}
	if err := l.append(testEntry("k-1")); !errors.Is(err, broken) {
		t.Errorf("a later append ends with %v", err)
	}
	if len(l.all()) != 0 || len(l.under("k-0")) != 0 {
		t.Error("an entry that is perhaps not durable is visible")
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
	if err := l.append(testEntry("k-2")); !errors.Is(err, errLedgerClosed) {
		t.Errorf("after the close an append ends with %v", err)
	}
}

func TestClosingFlushesWhatIsPending(t *testing.T) {
	t.Parallel()
	disk := newSlowDisk()
	l := startLedger(disk, nil)
	first := make(chan error, 1)
	go func() { first <- l.append(testEntry("k-0")) }()
	<-disk.flushing
	second := appendAside(l, "k-1")
	closed := make(chan error, 1)
	go func() { closed <- l.close() }()
	disk.proceed <- nil
	<-disk.flushing
	disk.proceed <- nil
	for _, done := range []<-chan error{first, second, closed} {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
	if len(l.all()) != 2 {
		t.Errorf("the ledger has %d entries, want 2", len(l.all()))
	}
}

// writtenLedger returns the path and bytes of a good ledger with three entries.
func writtenLedger(t *testing.T) (string, []byte) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "made", "ledger.jsonl")
	l, err := openLedger(path, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i := range 3 {
		if err := l.append(testEntry(fmt.Sprintf("k-%d", i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := l.close(); err != nil {
		t.Fatal(err)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return path, content
}

func TestATornLastLineIsCutOffWhereverItWasTorn(t *testing.T) {
	t.Parallel()
	path, content := writtenLedger(t)
	lastLine := bytes.LastIndexByte(content[:len(content)-1], '\n') + 1
	for cut := lastLine + 1; cut < len(content); cut += 5 {
		if err := os.WriteFile(path, content[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		l, err := openLedger(path, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatalf("cut at byte %d: %v", cut, err)
		}
		if len(l.all()) != 2 || !strings.Contains(log.String(), "torn") {
			t.Errorf("cut at byte %d: %d entries, log %q", cut, len(l.all()), log.String())
		}
		next := testEntry("k-next")
		if err := l.append(next); err != nil || next.Seq != 3 {
			t.Errorf("cut at byte %d: the next entry has seq %d, %v", cut, next.Seq, err)
		}
		if err := l.close(); err != nil {
			t.Fatal(err)
		}
		file, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		lines, _, torn, err := readLedger(file)
		file.Close()
		if err != nil || len(lines) != 3 || torn != 0 {
			t.Errorf("cut at byte %d: afterwards the file reads as %d lines, %d torn bytes, %v", cut, len(lines), torn, err)
		}
	}
}

func TestALedgerThatIsCorruptElsewhereIsNotOpened(t *testing.T) {
	t.Parallel()
	path, content := writtenLedger(t)
	lines := bytes.SplitAfter(content, []byte{'\n'})
	join := func(parts ...[]byte) []byte { return bytes.Join(parts, nil) }
	for name, damaged := range map[string][]byte{
		"a line is half gone":        join(lines[0], lines[1][:20], []byte{'\n'}, lines[2]),
		"the last line is nonsense":  join(lines[0], []byte("nonsense\n")),
		"an empty line":              join(lines[0], []byte{'\n'}, lines[1]),
		"a line is missing":          join(lines[0], lines[2]),
		"a line stands there twice":  join(lines[0], lines[0]),
		"an effect has two lines":    join(lines[0], bytes.Replace(lines[0], []byte(`"seq":1`), []byte(`"seq":2`), 1)),
		"members of it are missing":  []byte(`{"seq":1,"effect_id":"eff_1"}` + "\n"),
		"a line holds two values":    []byte(`{"seq":1}{}` + "\n"),
		"a line is no longer a line": []byte("\x00\x00\x00\n"),
		"it is another file":         []byte(`{"my":"precious"}`),
		"it holds nothing but zeros": make([]byte, 3<<20),
		"another file follows":       join(lines[0], []byte(`{"my":"precious"}`)),
		"the end has another seq":    join(lines[0], lines[2][:20]),
	} {
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := openLedger(path, slog.New(slog.DiscardHandler))
		if !errors.Is(err, ErrLedgerCorrupt) || !strings.Contains(err.Error(), "line ") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(path); err != nil || !bytes.Equal(left, damaged) {
			t.Errorf("%s: the file was changed", name)
		}
	}
}

func TestOnlyTheLedgersOwnFolderIsClosedToOthers(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	state := filepath.Join(base, "lib", "state")
	leaf := filepath.Join(state, "provider")
	shared := filepath.Join(base, "shared") // has what the process's umask leaves of 0755
	if err := os.Mkdir(shared, 0o755); err != nil {
		t.Fatal(err)
	}
	l, err := openLedger(filepath.Join(leaf, "ledger.jsonl"), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if err := l.close(); err != nil {
		t.Error(err)
	}
	mode := func(path string) os.FileMode {
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		return info.Mode().Perm()
	}
	for path, want := range map[string]os.FileMode{filepath.Dir(state): mode(shared), state: mode(shared), leaf: 0o700} {
		if got := mode(path); got != want {
			t.Errorf("%s has mode %o, want %o", path, got, want)
		}
	}
}

func TestOneLedgerIsNotOpenedTwice(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "ledger.jsonl")
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	first, err := New(Config{LedgerPath: path, Logger: log})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(Config{LedgerPath: path, Logger: log}); !errors.Is(err, ErrLedgerInUse) {
		t.Errorf("the second provider ends with %v", err)
	}
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second, err := New(Config{LedgerPath: path, Logger: log})
	if err != nil {
		t.Fatalf("after the first has closed it: %v", err)
	}
	if err := second.Close(); err != nil {
		t.Error(err)
	}
}

func TestTheRequestLogKeepsTheNewest(t *testing.T) {
	t.Parallel()
	log := &requestLog{waiters: make(map[*requestWaiter]struct{})}
	const sent = 2*keptRequests + 10
	for i := range sent {
		log.add(Request{ID: fmt.Sprint(i)})
	}
	found := log.find(RequestFilter{})
	if len(found) != keptRequests || found[0].ID != fmt.Sprint(sent-keptRequests) || found[keptRequests-1].ID != fmt.Sprint(sent-1) {
		t.Errorf("the log keeps %d requests, from %s", len(found), found[0].ID)
	}
}
