package main

import (
	"bytes"
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
	// limit is in bytes, and shrink says what to do about more.
	limit  int
	shrink string
	// bare says that the argument is never the content: a file is named without "@".
	bare bool
}

const referToIt = "send a reference to large content, not the content"

// payloadOnly is what --payload names, where a payload may have limit bytes.
func payloadOnly(limit int) input {
	return input{what: "payload", flag: "--payload", limit: limit, shrink: referToIt}
}

// wholeRequest is what --request names. The rest of a request takes some hundred bytes.
func wholeRequest(limit int) input {
	return input{what: "request", flag: "--request", limit: limit + 64<<10, shrink: referToIt}
}

// read returns what the argument names. It reads no more than is needed to know that it is
// too large, and stops waiting when ctx ends: a pipe or a terminal may never say anything.
func (in input) read(ctx context.Context, argument string, stdin io.Reader) ([]byte, error) {
	path, isFile := strings.CutPrefix(argument, "@")
	if in.bare {
		path, isFile = argument, argument != "-"
	}
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
			"the %s has more than the %d bytes that are allowed; %s", in.what, in.limit, in.shrink)
		e.Offset = int64(in.limit)
		return nil, e
	}
	if bytes.HasPrefix(read, []byte(byteOrderMark)) {
		e := intent.Errorf(intent.CodeInvalidJSON, "the %s begins with a byte order mark; save it without one", in.what)
		e.Offset = 0
		return nil, e
	}
	return read, nil
}

// byteOrderMark is what some editors write before UTF-8, and JSON may not begin with (RFC 8259,
// section 8.1).
const byteOrderMark = "\ufeff"

func (in input) unreadable(err error) error {
	named := "a readable file after @"
	if in.bare {
		named = "a readable file"
	}
	return intent.Errorf(intent.CodePayloadUnreadable, "the %s cannot be read (%w); name %s, or - for standard input", in.what, err, named)
}
