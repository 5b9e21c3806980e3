package stack

import (
	"fmt"
	"io"
	"strings"
)

// Announce writes the addresses for a person: one block, which ends with the
// lines that connect a shell to the stack.
func (a Addresses) Announce(output io.Writer) error {
	worker := "none in this process"
	if a.Worker {
		worker = "hosts the sample tools on task queue " + a.TaskQueue
	}
	var text strings.Builder
	text.WriteString("\nWrit is running; Ctrl-C stops it.\n\n")
	for _, line := range []Variable{
		{"PostgreSQL", a.DatabaseURL},
		{"Temporal", a.TemporalAddress + ", namespace " + a.TemporalNamespace},
		{"Temporal UI", orNone(a.UIURL)},
		{"Provider", orNone(a.ProviderURL)},
		{"Worker", worker},
		{"Data", a.DataDir},
	} {
		fmt.Fprintf(&text, "  %-12s %s\n", line.Name, line.Value)
	}
	text.WriteString("\nIn another terminal, for the writ command:\n\n")
	for _, variable := range a.Environment() {
		fmt.Fprintf(&text, "  export %s=%s\n", variable.Name, quoted(variable.Value))
	}
	text.WriteString("\n")
	_, err := io.WriteString(output, text.String())
	return err
}

func orNone(address string) string {
	if address == "" {
		return "not started"
	}
	return address
}

// quoted returns the value as one word of a POSIX shell.
func quoted(value string) string {
	return "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
}
