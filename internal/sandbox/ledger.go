package sandbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"
)

// Entry is one performed effect. On disk it is one JSON line; GET /ledger returns the same members.
type Entry struct {
	// Seq counts performed effects from 1 without gaps.
	Seq int64 `json:"seq"`
	// Time is when the effect was performed, in UTC, cut to microseconds.
	Time time.Time `json:"time"`
	// Endpoint is the path of the request, such as "/v1/payments/capture".
	Endpoint string `json:"endpoint"`
	// Key is the Idempotency-Key as received; empty where none was sent.
	Key string `json:"key"`
	// Reference is the Client-Reference as received, of endpoints that keep it; absent where none was sent.
	Reference string `json:"reference,omitempty"`
	// RequestID is the provider's own name for the request that caused the effect; see [Request].
	RequestID string `json:"request_id"`
	// Traceparent is the W3C traceparent header as received, empty where none was sent.
	Traceparent string `json:"traceparent"`
	// EffectID is unique to this effect. The stored answer carries it as "id".
	EffectID string `json:"effect_id"`
	// BodySHA256 is the lower-case hexadecimal digest of the body's bytes exactly as received.
	BodySHA256 string `json:"body_sha256"`
	// Body is the request's JSON with the white space between tokens removed and nothing else changed.
	Body json.RawMessage `json:"body"`
	// Answer is what the provider says about the effect, now and on every replay.
	Answer Answer `json:"answer"`
}

// Answer is a stored HTTP answer.
type Answer struct {
	Status int             `json:"status"`
	Body   json.RawMessage `json:"body"`
}

// errLedgerClosed means that nothing was written: the provider is stopping.
var errLedgerClosed = errors.New("sandbox: the ledger is closed")

// ledgerFile is what the ledger needs of an [os.File]; tests put a slow or failing disk behind it.
type ledgerFile interface {
	Write(p []byte) (int, error)
	Sync() error
	Close() error
}

// ledger holds every effect ever performed, on disk and in memory. Appends commit in groups: while one fsync runs,
// the entries that arrive meanwhile collect and share the next.
type ledger struct {
	file ledgerFile
	done chan struct{} // closed when the writer has ended

	mu      sync.Mutex
	arrived sync.Cond // signalled when pending or closed changes
	pending []*pendingEntry
	closed  bool
	// failed is set for good by the first write or fsync that fails: after it nobody knows what the disk holds, so
	// going on could answer for effects that a restart would not find.
	failed  error
	lines   [][]byte // the committed entries as on disk, without the line's end
	nextSeq int64
	byKey   map[string][]*Entry // only of endpoints that honour keys
	// byReference finds the effects of endpoints that keep references.
	byReference map[string][]*Entry
	// performed holds what may be done once only where the rules of business are on, by endpoint and subject.
	performed map[[2]string]bool
}

// pendingEntry is an append that waits for its fsync.
type pendingEntry struct {
	entry *Entry
	done  chan error
}

// openLedger opens or creates the file at path, takes its lock and reads it; see [readLedger] for what it accepts.
func openLedger(path string, log *slog.Logger) (*ledger, error) {
	file, recovered, err := openLedgerFile(path, log)
	if err != nil {
		return nil, err
	}
	return startLedger(file, recovered), nil
}

// startLedger goes on from what was recovered and starts the writer.
func startLedger(file ledgerFile, recovered []recoveredLine) *ledger {
	l := &ledger{
		file: file, done: make(chan struct{}), nextSeq: 1,
		byKey: make(map[string][]*Entry), byReference: make(map[string][]*Entry), performed: make(map[[2]string]bool),
	}
	l.arrived.L = &l.mu
	for _, r := range recovered {
		l.commit(r.entry, r.line)
	}
	go l.write()
	return l
}

// append makes the entry durable and returns when it is; it sets the entry's Seq. The entry must not be changed afterwards.
// errLedgerClosed means that nothing was written; with any other error the entry may or may not be on the disk.
func (l *ledger) append(e *Entry) error {
	p := &pendingEntry{entry: e, done: make(chan error, 1)}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return errLedgerClosed
	}
	l.pending = append(l.pending, p)
	l.arrived.Signal()
	l.mu.Unlock()
	return <-p.done
}

// write is the only goroutine that touches the file. It ends when the ledger is closed and nothing is pending.
func (l *ledger) write() {
	defer close(l.done)
	for {
		l.mu.Lock()
		for len(l.pending) == 0 && !l.closed {
			l.arrived.Wait()
		}
		batch, failed, seq := l.pending, l.failed, l.nextSeq
		l.pending = nil
		l.mu.Unlock()

		if len(batch) == 0 {
			return
		}
		var lines [][]byte
		if failed == nil {
			lines, failed = l.writeBatch(batch, seq)
		}

		l.mu.Lock()
		l.failed = failed
		if failed == nil {
			for i, p := range batch {
				l.commit(p.entry, lines[i])
			}
		}
		l.mu.Unlock()
		for _, p := range batch {
			p.done <- failed
		}
	}
}

// writeBatch numbers the entries from seq and puts them on the disk with one write and one fsync.
func (l *ledger) writeBatch(batch []*pendingEntry, seq int64) ([][]byte, error) {
	lines := make([][]byte, len(batch))
	for i, p := range batch {
		p.entry.Seq = seq + int64(i)
		line, err := marshal(p.entry)
		if err != nil {
			return nil, fmt.Errorf("sandbox: encode ledger entry %d: %w", p.entry.Seq, err)
		}
		lines[i] = line
	}
	if _, err := l.file.Write(append(bytes.Join(lines, []byte{'\n'}), '\n')); err != nil {
		return nil, fmt.Errorf("sandbox: write the ledger: %w", err)
	}
	if err := l.file.Sync(); err != nil {
		return nil, fmt.Errorf("sandbox: flush the ledger: %w", err)
	}
	return lines, nil
}

// commit makes a durable entry visible. Stored answers are found through the entries and nowhere else, so that a running
// provider and a restarted one cannot disagree about them. The caller holds mu, or is the only one to know the ledger.
func (l *ledger) commit(e *Entry, line []byte) {
	l.lines = append(l.lines, line)
	l.nextSeq = e.Seq + 1
	op := operations[e.Endpoint]
	if op.keyed {
		l.byKey[e.Key] = append(l.byKey[e.Key], e)
	}
	if op.once.member != "" {
		var members map[string]json.RawMessage
		if json.Unmarshal(e.Body, &members) == nil {
			l.performed[[2]string{e.Endpoint, subjectOf(members, op.once.member)}] = true
		}
	}
	if e.Reference != "" {
		l.byReference[e.Reference] = append(l.byReference[e.Reference], e)
	}
}

// under returns the effects that were performed under a key, oldest first. More than one means that the key was ignored.
func (l *ledger) under(key string) []*Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byKey[key][:len(l.byKey[key]):len(l.byKey[key])]
}

// keys returns the key if effects were performed under it, or every such key if it is empty.
func (l *ledger) keys(key string) []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if key != "" {
		return []string{key}
	}
	return slices.Collect(maps.Keys(l.byKey))
}

// performedOn tells whether an endpoint has had an effect on a subject.
func (l *ledger) performedOn(endpoint, subject string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.performed[[2]string{endpoint, subject}]
}

// referring returns the effects that carry a reference, oldest first.
func (l *ledger) referring(reference string) []*Entry {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.byReference[reference][:len(l.byReference[reference]):len(l.byReference[reference])]
}

// all returns the committed lines, oldest first.
func (l *ledger) all() [][]byte {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines[:len(l.lines):len(l.lines)]
}

// close flushes what is pending, refuses everything after it and gives the file back. Reading goes on to work.
func (l *ledger) close() error {
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		<-l.done
		return nil
	}
	l.closed = true
	l.arrived.Signal()
	l.mu.Unlock()
	<-l.done
	if err := l.file.Close(); err != nil {
		return fmt.Errorf("sandbox: close the ledger: %w", err)
	}
	return nil
}

// marshal encodes v on one line. Unlike [json.Marshal] it leaves <, > and & alone, so that a stored body or answer comes
// back with the bytes that it went in with.
func marshal(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte{'\n'}), nil
}
