package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"writ/cmd/writ-dev/demo"
)

func newDemoCommand() *cobra.Command {
	var options demo.Options
	command := &cobra.Command{
		Use:   "demo",
		Short: "Kill a worker while payments are captured and count what the provider did",
		Long: `Starts an ephemeral stack and two worker processes, asks for every capture in a
file while the provider drops every tenth answer after it acted, kills one of
the workers with SIGKILL while it has captures in flight, starts another, and
compares the provider's ledger with what was asked for.

Leaves with 0 only if every capture happened exactly once.`,
		Example: `  writ-dev demo
  writ-dev demo --writ ./bin/writ --captures examples/captures.jsonl -o json`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			return runDemo(command, options)
		},
	}
	command.Flags().StringVar(&options.Writ, "writ", "", "`path` of the writ program (default: beside this one)")
	command.Flags().StringVar(&options.Captures, "captures", "examples/captures.jsonl", "`file` with one capture a line")
	return command
}

func runDemo(command *cobra.Command, options demo.Options) error {
	output, err := outputForm(command)
	if err != nil {
		return err
	}
	if options.Writ == "" {
		self, err := os.Executable()
		if err != nil {
			return fmt.Errorf("find the writ program: %w; name it with --writ", err)
		}
		options.Writ = filepath.Join(filepath.Dir(self), "writ")
	}
	if err := checkProgram("--writ", options.Writ); err != nil {
		return err
	}
	if _, err := os.Stat(options.Captures); err != nil {
		return usageError{fmt.Errorf("the captures cannot be read (%w): name their file with --captures", err)}
	}
	options.Progress = func(sentence string) { fmt.Fprintln(command.ErrOrStderr(), sentence) }
	report, err := demo.Run(command.Context(), options)
	if err != nil {
		return err
	}
	return printVerdict(command, output, report)
}
