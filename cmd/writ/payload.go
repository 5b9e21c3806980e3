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

// payloadOnly is what --payload names, where a payload may have limit bytes.
func payloadOnly(limit int) input { return input{"payload", "--payload", limit} }

// wholeRequest is what --request names. The rest of a request takes some hundred bytes.
func wholeRequest(limit int) input { return input{"request", "--request", limit + 64<<10} }

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
