package stack

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
)

// logFile is a log that may be written to after its end: goroutines of Temporal
// go on for a moment after its server has stopped. What comes then is dropped.
type logFile struct {
	mutex  sync.Mutex
	file   *os.File
	closed bool
}

// openLog opens a new log at path and keeps the one of the last run at path.1.
func openLog(path string) (*logFile, error) {
	if err := os.Rename(path, path+".1"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("keep the earlier log: %w", err)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open a log: %w", err)
	}
	return &logFile{file: file}, nil
}

func (l *logFile) Write(line []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.closed {
		return len(line), nil
	}
	return l.file.Write(line)
}

// Close ends the log.
func (l *logFile) Close() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.closed = true
	return l.file.Close()
}
