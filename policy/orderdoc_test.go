package policy_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"writ/policy"
)

// docs/policy.md has the rules in a table of its own words: what is asked, the codes, and what is written.
func TestTheTableOfTheRulesInTheDocumentationIsTheOrder(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, found := strings.Cut(string(page), "\n| Rule | Code | Written |\n")
	if !found {
		t.Fatal("docs/policy.md has no table of the rules")
	}
	table, _, _ := strings.Cut(section, "\n\n")
	written := map[bool]string{true: "row and receipt", false: "nothing"}
	var documented, want []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 {
			continue // the line below the headings
		}
		for _, code := range regexp.MustCompile("`([a-z_]+)`").FindAllStringSubmatch(cells[1], -1) {
			documented = append(documented, code[1]+": "+strings.TrimSuffix(strings.TrimSpace(cells[2]), " |"))
		}
	}
	for _, rule := range policy.Order() {
		want = append(want, string(rule.Code)+": "+written[rule.Recorded])
	}
	if !slices.Equal(documented, want) {
		t.Errorf("docs/policy.md has\n%q\nand the rules are\n%q", documented, want)
	}
}
