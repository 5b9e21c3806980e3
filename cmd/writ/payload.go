package main

import (
	"context"
	"io"
	"os"
	"strings"

	"writ/intent"
)

// input is what a flag names: a file after "@", standard input for "-", else the
// argument itself.
type input struct {
	what, flag string
	// limit is in bytes.
	limit int
}

var (
	payloadOnly = input{"payload", "--payload", intent.MaxPayload}
	// The rest of a request takes some hundred bytes.
	wholeRequest = input{"request", "--request", intent.MaxPayload + 64<<10}
)

// readPayload returns the payload that the argument of --payload names.
func readPayload(ctx context.Context, argument string, stdin io.Reader) ([]byte, error) {
	return payloadOnly.read(ctx, argument, stdin)
}

// read returns what the argument names. It reads no more than is needed to know that it is
// too large, and stops waiting when ctx ends: a pipe or a terminal may never say anything.
func (in input) read(ctx context.Context, argument string, stdin io.Reader) ([]byte, error) {
	path, isFile := strings.CutPrefix(argument, "@")
	if !isFile && argument != "-" {
		return []byte(argument), nil
	}
	type content struct {
		bytes []byte
		err   error
	}
	read := make(chan content, 1)
	go func() {
		var c content
		if isFile {
			c.bytes, c.err = in.readFile(path)
		} else {
			c.bytes, c.err = in.readBounded(stdin)
		}
		read <- c
	}()
	select {
	case c := <-read:
		return c.bytes, c.err
	case <-ctx.Done():
		return nil, intent.Errorf(intent.CodeInterrupted, "the %s was still awaited and nothing was asked for: %w", in.what, ctx.Err())
	}
}

func (in input) readFile(path string) ([]byte, error) {
	if path == "" {
		return nil, usage("%s @ names no file; write @FILE, or - for standard input", in.flag)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, in.unreadable(err)
	}
	defer file.Close()
	return in.readBounded(file)
}

func (in input) readBounded(source io.Reader) ([]byte, error) {
	read, err := io.ReadAll(io.LimitReader(source, int64(in.limit)+1))
	if err != nil {
		return nil, in.unreadable(err)
	}
	if len(read) > in.limit {
		e := intent.Errorf(intent.CodePayloadTooLarge,
			"the %s has more than the %d bytes that are allowed; send a reference to large content, not the content", in.what, in.limit)
		e.Offset = int64(in.limit)
		return nil, e
	}
	return read, nil
}

func (in input) unreadable(err error) error {
	return intent.Errorf(intent.CodePayloadUnreadable, "the %s cannot be read (%w); name a readable file after @, or - for standard input", in.what, err)
}
