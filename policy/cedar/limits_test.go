package cedar_test

import (
	"fmt"
	"io/fs"
	"strings"
	"testing"
	"testing/fstest"

	"writ/intent"
	"writ/policy"
	"writ/policy/cedar"
)

const everybody = "permit (principal, action, resource);\n"

func TestASetIsBounded(t *testing.T) {
	t.Parallel()
	files := func(n int, text string) map[string]string {
		out := map[string]string{}
		for i := range n {
			out[fmt.Sprintf("%d.cedar", i)] = text
		}
		return out
	}
	comment := "//" + strings.Repeat(" ", cedar.MaxFile-3) + "\n"
	for says, given := range map[string]map[string]string{
		fmt.Sprintf("there are %d files and %d are allowed", cedar.MaxPolicies+1, cedar.MaxPolicies): files(cedar.MaxPolicies+1, everybody),
		fmt.Sprintf("bytes together and %d are allowed", cedar.MaxText):                              files(cedar.MaxText/cedar.MaxFile+1, comment),
		fmt.Sprintf("there are more than %d policies", cedar.MaxPolicies):                            {"a.cedar": strings.Repeat(everybody, cedar.MaxPolicies+1)},
		"the name of its file is too long":                                                           {strings.Repeat("a", 250) + ".cedar": everybody},
	} {
		if set, err := cedar.FromFiles(given); set != nil || intent.CodeOf(err) != intent.CodeInvalidPolicy || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %.200v", says, err)
		}
	}
	if set, err := cedar.FromFiles(map[string]string{"a.cedar": strings.Repeat(everybody, cedar.MaxPolicies)}); err != nil || len(set.IDs()) != cedar.MaxPolicies {
		t.Errorf("as many as are allowed: %v", err)
	}
}

func TestAFolderOfTooManyFilesIsNotReadToItsEnd(t *testing.T) {
	t.Parallel()
	many, wide := fstest.MapFS{}, fstest.MapFS{}
	for i := range cedar.MaxPolicies + 1 {
		many[fmt.Sprintf("%d.cedar", i)] = &fstest.MapFile{Data: []byte(everybody)}
	}
	for i := range cedar.MaxEntries {
		wide[fmt.Sprintf("%d/%d.txt", i%100, i)] = &fstest.MapFile{}
	}
	for says, folder := range map[string]fs.FS{
		fmt.Sprintf("it has more than %d files", cedar.MaxPolicies):              many,
		fmt.Sprintf("more than %d files and folders below it", cedar.MaxEntries): wide,
	} {
		if set, err := cedar.Load(folder); set != nil || intent.CodeOf(err) != intent.CodeInvalidPolicy || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %.200v", says, err)
		}
	}
}

// What policies say stands twice in a decision, and that in a row, a receipt and Temporal's history.
func TestADecisionOfManyPoliciesNamesAllAndTellsTheFirst(t *testing.T) {
	t.Parallel()
	var text strings.Builder
	for i := range cedar.MaxPolicies {
		fmt.Fprintf(&text, "@id(%q)\n@reason(%q)\nforbid (principal, action, resource);\n", fmt.Sprintf("p-%04d-%s", i, strings.Repeat("a", 248)), fmt.Sprintf("%d%s", i, strings.Repeat("b", 100)))
	}
	v := evaluate(t, text.String())
	if v.Allow || len(v.Policies) != cedar.MaxPolicies || len(v.Reason) > policy.MaxReason || !strings.Contains(v.Reason, "and 1990 others: 0bb") {
		t.Errorf("%d policies, a reason of %d bytes: %.100s", len(v.Policies), len(v.Reason), v.Reason)
	}
	v = evaluate(t, strings.Repeat(everybody, cedar.MaxPolicies))
	if !v.Allow || len(v.Policies) != cedar.MaxPolicies || !strings.HasSuffix(v.Reason, "and 1990 others") {
		t.Errorf("%d policies: %.100s", len(v.Policies), v.Reason)
	}
}

func evaluate(t *testing.T, text string) policy.Verdict {
	t.Helper()
	v, err := bind(t, text).Evaluate(t.Context(), asked("echo", "{}"))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func BenchmarkDecisionsOfTheLargestSet(b *testing.B) {
	var text strings.Builder
	for i := range cedar.MaxPolicies {
		fmt.Fprintf(&text, "@id(\"p-%d\") permit (principal, action, resource == Tool::\"payments.refund\")\nwhen { context.payload.amount.lessThan(decimal(\"%d.00\")) && principal.name != \"x%d\" };\n", i, i+2, i)
	}
	files := map[string]string{"a.cedar": text.String()}
	set, err := cedar.FromFiles(files)
	if err != nil {
		b.Fatal(err)
	}
	bound, err := set.ForTools([]policy.Hosted{refund})
	if err != nil {
		b.Fatal(err)
	}
	f := asked("payments.refund", `{"payment_id":"p","amount":"1.00"}`)
	for name, do := range map[string]func() error{
		"load":     func() error { _, err := cedar.FromFiles(files); return err },
		"check":    func() error { _, err := set.ForTools([]policy.Hosted{refund}); return err },
		"evaluate": func() error { _, err := bound.Evaluate(b.Context(), f); return err },
		"explain":  func() error { bound.(*cedar.Set).Explain(b.Context(), policy.Asking(f)); return nil },
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if err := do(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
