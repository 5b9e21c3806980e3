package effecthttp_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestTheLookupOfTheDocumentationIsTheOneThatRuns(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "tools.md"))
	if err != nil {
		t.Fatal(err)
	}
	program, err := os.ReadFile("example_lookup_test.go")
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	for _, block := range regexp.MustCompile("(?ms)^```go\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if !strings.Contains(block[1], "Reconcile(ctx") {
			continue
		}
		found++
		for _, part := range strings.SplitAfter(block[1], "\n}\n") {
			if !strings.Contains(string(program), strings.TrimSpace(part)) {
				t.Errorf("this is not in the example that runs:\n%s", part)
			}
		}
	}
	if found != 1 {
		t.Errorf("%d programs in docs/tools.md have a Reconcile, want one", found)
	}
}
