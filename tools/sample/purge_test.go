package sample_test

import (
	"strings"
	"testing"

	"writ/intent"
	"writ/tools"
	"writ/tools/sample"
)

func TestAKeptDocumentIsTouchedOnlyInTheEnginesTransaction(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, name := range []string{"documents.store", "documents.purge"} {
		tool, _ := b.tools.Lookup(name)
		if _, ok := tool.Tool.(tools.Transactor); !ok {
			t.Errorf("%s cannot be given a transaction", name)
		}
		_, err := tool.Tool.Invoke(t.Context(), tools.Invocation{})
		if f := wantFailure(t, err, intent.NotApplied, tools.CodeNoTransaction); !f.Final {
			t.Errorf("%s would be tried again without a transaction", name)
		}
	}
}

func TestAKeptDocumentIsRefusedForWhatItsToolCannotStore(t *testing.T) {
	t.Parallel()
	registry, err := tools.NewRegistry(sample.Store(sample.Config{}), sample.Purge(sample.Config{}))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		tool, payload string
		code          intent.Code
	}{
		{"documents.store", `{"document_id":"doc_1","title":"Terms","content":"x"}`, ""},
		{"documents.store", `{"document_id":"doc_1","title":"Terms"}`, intent.CodeInputSchema},
		{"documents.store", `{"document_id":"doc_1","title":" ","content":"x"}`, intent.CodeInvalidPayload},
		{"documents.store", `{"document_id":"doc_1","title":"` + strings.Repeat("é", 200) + `","content":"x"}`, intent.CodeInvalidPayload},
		{"documents.store", `{"document_id":"doc_1","title":"a\u0000b","content":"x"}`, intent.CodeInvalidPayload},
		{"documents.store", `{"document_id":"doc_1","title":"Terms","content":"a\u0000b"}`, ""},
		{"documents.purge", `{"document_id":"doc_1","reason":"expired"}`, ""},
		{"documents.purge", `{"document_id":"doc_1","tenant":"other"}`, intent.CodeInputSchema},
	} {
		tool, _ := registry.Lookup(c.tool)
		if err := tools.Validate(tool, []byte(c.payload)); intent.CodeOf(err) != c.code {
			t.Errorf("%s %.60s: %v, want %q", c.tool, c.payload, err, c.code)
		}
	}
}
