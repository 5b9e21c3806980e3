package sandbox

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"syscall"
)

// Why a ledger could not be opened; every other error of [New] comes from the file system.
var (
	// ErrLedgerInUse means that another provider has the ledger open. Two writers would tear each other's lines.
	ErrLedgerInUse = errors.New("another provider is using this ledger")
	// ErrLedgerCorrupt means that a line other than a torn last one cannot be understood. The provider refuses to start,
	// because books with a hole judge nothing, and leaves the file as it is: perhaps it never was a ledger.
	ErrLedgerCorrupt = errors.New("the ledger is corrupt")
)

// recoveredLine is an entry that was found in the file, with its own bytes.
type recoveredLine struct {
	entry *Entry
	line  []byte
}

// openLedgerFile opens or creates the file, locks it for this process, reads it and cuts off a torn last line.
func openLedgerFile(path string, log *slog.Logger) (_ *os.File, _ []recoveredLine, err error) {
	if err := makeFolder(filepath.Dir(path)); err != nil {
		return nil, nil, fmt.Errorf("sandbox: make the ledger's folder: %w", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: open the ledger: %w", err)
	}
	defer func() {
		if err != nil {
			file.Close()
		}
	}()
	// The kernel drops the lock with the process, also after SIGKILL, so a restart never meets a stale one.
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, nil, fmt.Errorf("sandbox: %s: %w", path, ErrLedgerInUse)
		}
		return nil, nil, fmt.Errorf("sandbox: lock the ledger: %w", err)
	}
	lines, whole, torn, err := readLedger(file)
	if err != nil {
		return nil, nil, fmt.Errorf("sandbox: %s: %w", path, err)
	}
	if torn > 0 {
		log.Warn("cut a torn last line off the ledger: it was never answered", "path", path, "bytes", torn)
		if err := file.Truncate(whole); err != nil {
			return nil, nil, fmt.Errorf("sandbox: cut the torn last line off the ledger: %w", err)
		}
	}
	// Make the file's length and its name in the folder durable before anything relies on them. It also flushes lines
	// that a killed predecessor wrote and did not live to flush: from now on they are visible, so they must last.
	if err := file.Sync(); err != nil {
		return nil, nil, fmt.Errorf("sandbox: flush the ledger: %w", err)
	}
	if err := syncFolder(filepath.Dir(path)); err != nil {
		return nil, nil, err
	}
	return file, lines, nil
}

// makeFolder makes the ledger's folder for this user alone. The folders above it may be shared: the private PostgreSQL
// keeps its data beside the provider's, and runs as another user when the provider is started by root.
func makeFolder(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.MkdirAll(path, 0o700)
}

// readLedger reads every line. whole is the length of the part that consists of complete lines, torn the number of bytes
// after it: a line without its end was being written when the provider was killed, so it was not flushed and not
// answered, even if it happens to parse. Bytes that no entry begins with are no torn line; the ledger is then corrupt.
func readLedger(r io.Reader) (lines []recoveredLine, whole, torn int64, err error) {
	in := bufio.NewReader(r)
	effects := make(map[string]bool)
	for {
		line, err := in.ReadBytes('\n')
		number := int64(len(lines)) + 1
		corrupt := func(why string) error {
			return fmt.Errorf("%w: line %d at byte %d: %s", ErrLedgerCorrupt, number, whole, why)
		}
		if err == io.EOF {
			if !beginsEntry(line, number) {
				return nil, 0, 0, corrupt("the file does not end as a ledger does")
			}
			return lines, whole, int64(len(line)), nil
		}
		if err != nil {
			return nil, 0, 0, fmt.Errorf("read the ledger: %w", err)
		}
		entry := new(Entry)
		switch err := json.Unmarshal(line, entry); {
		case err != nil:
			return nil, 0, 0, corrupt(err.Error())
		case entry.Seq != number:
			return nil, 0, 0, corrupt(fmt.Sprintf("seq is %d", entry.Seq))
		case entry.EffectID == "" || effects[entry.EffectID]:
			return nil, 0, 0, corrupt("effect_id is missing or used twice")
		case entry.Endpoint == "" || entry.BodySHA256 == "" || entry.Answer.Status == 0:
			return nil, 0, 0, corrupt("endpoint, body_sha256 or answer is missing")
		}
		effects[entry.EffectID] = true
		whole += int64(len(line))
		lines = append(lines, recoveredLine{entry: entry, line: bytes.TrimSuffix(line, []byte{'\n'})})
	}
}

// beginsEntry reports whether tail can be what is left of the entry with this seq: every entry begins with the same bytes
// up to its time. Nothing is left of an entry that was not begun.
func beginsEntry(tail []byte, seq int64) bool {
	head := fmt.Appendf(nil, `{"seq":%d,"time":"`, seq)
	return bytes.HasPrefix(tail, head) || bytes.HasPrefix(head, tail)
}

// syncFolder makes a new file's name durable (fsync(2): syncing the file alone does not).
func syncFolder(path string) error {
	folder, err := os.Open(path)
	if err != nil {
		return fmt.Errorf("sandbox: open the ledger's folder: %w", err)
	}
	defer folder.Close()
	if err := folder.Sync(); err != nil {
		return fmt.Errorf("sandbox: flush the ledger's folder: %w", err)
	}
	return nil
}
