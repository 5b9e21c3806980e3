package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"writ/intent"
)

func TestTheDocumentationNamesEveryCommandAndFlagAndNoOthers(t *testing.T) {
	t.Parallel()
	text := documentation(t)
	flags := map[string]bool{"help": true}
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.HasSubCommands() && !strings.Contains(text, "| `"+cmd.CommandPath()+strings.TrimPrefix(cmd.Use, cmd.Name())+"` |") {
			t.Errorf("%s is not in the table of commands", cmd.CommandPath())
		}
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			flags[f.Name] = true
			if !regexp.MustCompile(`--` + f.Name + `\b`).MatchString(text) {
				t.Errorf("--%s of %s is not mentioned", f.Name, cmd.CommandPath())
			}
		})
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newCommand(&program{}))
	for _, mentioned := range regexp.MustCompile(`--([a-z][a-z-]*)`).FindAllStringSubmatch(text, -1) {
		if !flags[mentioned[1]] {
			t.Errorf("%s is mentioned and does not exist", mentioned[0])
		}
	}
}

func TestTheDocumentationGivesEveryCodeItsExitStatus(t *testing.T) {
	t.Parallel()
	documented := map[intent.Code]string{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d) \|[^|]*\|(.*)\|$`).FindAllStringSubmatch(documentation(t), -1) {
		for _, code := range regexp.MustCompile("`([a-z0-9_]+)`").FindAllStringSubmatch(row[2], -1) {
			documented[intent.Code(code[1])] = row[1]
		}
	}
	delete(documented, "migrate") // a word of the row, not a code
	for code, status := range statuses {
		if documented[code] != fmt.Sprint(status) {
			t.Errorf("%s has status %d and is documented with %q", code, status, documented[code])
		}
		delete(documented, code)
	}
	for code := range documented {
		t.Errorf("%s is documented and does not exist", code)
	}
}

func documentation(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "cli.md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
