package main

import (
	"context"
	"io"
	"os"
	"strings"

	"writ/intent"
)

// readPayload returns the payload that the argument of --payload names: a file after "@",
// standard input for "-", else the argument itself. It reads no more than is needed to
// know that a payload is too large, and stops waiting when ctx ends: a pipe or a terminal
// may never say anything.
func readPayload(ctx context.Context, argument string, stdin io.Reader) ([]byte, error) {
	path, isFile := strings.CutPrefix(argument, "@")
	if !isFile && argument != "-" {
		return []byte(argument), nil
	}
	type content struct {
		payload []byte
		err     error
	}
	read := make(chan content, 1)
	go func() {
		var c content
		if isFile {
			c.payload, c.err = readFile(path)
		} else {
			c.payload, c.err = readBounded(stdin)
		}
		read <- c
	}()
	select {
	case c := <-read:
		return c.payload, c.err
	case <-ctx.Done():
		return nil, intent.Errorf(intent.CodeInterrupted, "the payload was still awaited and nothing was asked for: %w", ctx.Err())
	}
}

func readFile(path string) ([]byte, error) {
	if path == "" {
		return nil, usage("--payload @ names no file; write @FILE, or - for standard input")
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, unreadable(err)
	}
	defer file.Close()
	return readBounded(file)
}

func readBounded(source io.Reader) ([]byte, error) {
	payload, err := io.ReadAll(io.LimitReader(source, intent.MaxPayload+1))
	if err != nil {
		return nil, unreadable(err)
	}
	if len(payload) > intent.MaxPayload {
		e := intent.Errorf(intent.CodePayloadTooLarge,
			"the payload has more than the %d bytes that are allowed; send a reference to large content, not the content", intent.MaxPayload)
		e.Offset = intent.MaxPayload
		return nil, e
	}
	return payload, nil
}

func unreadable(err error) error {
	return intent.Errorf(intent.CodePayloadUnreadable, "the payload cannot be read (%w); name a readable file after @, or - for standard input", err)
}
