package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
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

// The codes of each status stand in docs/errors.md, which is made from the code.
func TestTheDocumentationListsEveryExitStatusOnce(t *testing.T) {
	t.Parallel()
	documented := map[int]int{}
	for _, row := range regexp.MustCompile(`(?m)^\| (\d) \| ([^|]+) \|$`).FindAllStringSubmatch(documentation(t), -1) {
		status, err := strconv.Atoi(row[1])
		if err != nil {
			t.Fatal(err)
		}
		documented[status]++
	}
	used := map[int]bool{statusCompleted: true}
	for _, status := range statuses {
		used[status] = true
	}
	for status := range used {
		if documented[status] != 1 {
			t.Errorf("status %d is documented %d times", status, documented[status])
		}
		delete(documented, status)
	}
	for status := range documented {
		t.Errorf("status %d is documented and no code has it", status)
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
