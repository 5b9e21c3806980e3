package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"writ/intent"
)

// The values of --output.
const (
	outputText = "text"
	outputJSON = "json"
)

// print writes a command's answer to standard output: the document as one line of JSON,
// or what text writes. A json.RawMessage is written byte for byte.
func (p *program) print(document any, text func(w io.Writer)) error {
	var answer bytes.Buffer
	if p.output == outputJSON {
		if err := writeJSON(&answer, document); err != nil {
			return err
		}
	} else {
		text(&answer)
	}
	if _, err := p.stdout.Write(answer.Bytes()); err != nil {
		return intent.Errorf(intent.CodeOutputFailed, "the answer could not be written to standard output (%w); what was done is done, ask for it again", err)
	}
	return nil
}

// writeJSON writes one document and a line break. It escapes no HTML, so that receipts and
// answers inside keep their bytes.
func writeJSON(w io.Writer, document any) error {
	if raw, ok := document.(json.RawMessage); ok {
		_, err := w.Write(append(bytes.Clone(raw), '\n'))
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	return encoder.Encode(document)
}

// writeTable writes rows of text of unknown origin, the first of them the headings.
func writeTable(w io.Writer, rows [][]string) {
	table := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, cells := range rows {
		for i, cell := range cells {
			cells[i] = printable(cell)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	_ = table.Flush() // into memory
}

// dash stands in a table where there is nothing.
func dash(text string) string { return cmp.Or(text, "-") }

// counted is a number of things.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// block is text in two columns, names and values.
type block struct {
	rows [][2]string
}

// add appends a row, unless the value is empty.
func (b *block) add(name, value string) {
	if value != "" {
		b.rows = append(b.rows, [2]string{name, value})
	}
}

func (b *block) write(w io.Writer) {
	width := 0
	for _, row := range b.rows {
		width = max(width, len(row[0]))
	}
	for _, row := range b.rows {
		fmt.Fprintf(w, "%-*s  %s\n", width, row[0], printable(row[1]))
	}
}

// printable returns text of unknown origin as a terminal may see it: tools and providers
// write into it, and a control sequence could repaint what the user reads.
func printable(text string) string {
	var b strings.Builder
	for i, r := range text {
		switch {
		case r == utf8.RuneError && !strings.HasPrefix(text[i:], string(utf8.RuneError)):
			fmt.Fprintf(&b, `\x%02x`, text[i])
		case unicode.IsPrint(r):
			b.WriteRune(r)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	return b.String()
}

// unpainted returns JSON of the same value in which every character that does not print is an
// escape: what callers and policies write must not repaint what somebody reads who decides about
// it. The JSON is on one line.
func unpainted(raw json.RawMessage) json.RawMessage {
	var out []byte
	for _, r := range string(raw) {
		if unicode.IsPrint(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		units := []rune{r}
		if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
			units = []rune{high, low}
		}
		for _, unit := range units {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}
