package tools_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"writ/tools"
)

// A tool of one's own: it files an invoice under its idempotency key. A second run with
// the same key leaves the same one file, so the tool may say that it is idempotent.
func ExampleNew() {
	const archive = "/var/lib/archive"
	file := tools.New(tools.Spec{
		Name:          "invoices.file",
		Description:   "File an invoice in the archive: number, text.",
		SideEffectful: true,
		Idempotent:    true,
		Key:           tools.KeyContract{Remembers: tools.WindowForever},
	}, func(_ context.Context, inv tools.Invocation) (tools.Result, error) {
		var invoice struct{ Number, Text string }
		if err := inv.Decode(&invoice); err != nil {
			return tools.Result{}, tools.NotApplied(err).WithCode("invalid_invoice").AsFinal()
		}
		name := filepath.Join(archive, inv.IdempotencyKey()+".txt")
		if err := os.WriteFile(name, []byte(invoice.Text), 0o600); err != nil {
			// Some of it may have been written.
			return tools.Result{}, tools.Unknown(err).WithCode("write_failed")
		}
		return tools.JSON(map[string]string{"number": invoice.Number, "file": name})
	})

	registry, err := tools.NewRegistry(file)
	if err != nil {
		log.Fatal(err)
	}
	for _, registered := range registry.All() {
		fmt.Println(registered.Spec.Name, registered.Tool.Spec().Class())
	}
	// Output:
	// invoices.file keyed
}
