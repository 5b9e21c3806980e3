package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ"
)

// The exit statuses.
const (
	exitOK      = 0
	exitFailure = 1
	exitUsage   = 2
)

// usageError is a mistake on the command line.
type usageError struct{ error }

func (usageError) Code() string { return "usage" }

func (e usageError) Unwrap() error { return e.error }

// run is the program without its process. It returns the exit status.
func run(ctx context.Context, arguments []string, stdout, stderr io.Writer) int {
	root := newCommand()
	root.SetArgs(arguments)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	report(stderr, root, err)
	var usage usageError
	if errors.As(err, &usage) {
		return exitUsage
	}
	return exitFailure
}

func newCommand() *cobra.Command {
	var up upFlags
	root := &cobra.Command{
		Use:   "writ-dev",
		Short: "Run Writ with PostgreSQL, Temporal, its web UI and a sandbox provider in one process",
		Long: `Runs everything that Writ needs in one process: PostgreSQL, Temporal, Temporal's
web UI, the outbox's migrations, the sandbox provider and a worker with the
sample tools. Prints where everything is, and runs until it is interrupted.

PostgreSQL is the one that DATABASE_URL names; without it, a private cluster
is run from the installed binaries, durable as in production.

State is kept in a data folder: a restart goes on where the last run stopped.
All ports are on 127.0.0.1.`,
		Example: `  writ-dev
  writ-dev --ephemeral --no-worker -o json
  writ-dev --data-dir ./state --temporal-port 0 --ui-port 0
  DATABASE_URL=postgres://me:secret@db:5432/writ writ-dev`,
		Args:              noArguments,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(command *cobra.Command, _ []string) error {
			return up.run(command)
		},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	root.PersistentFlags().StringP("output", "o", "text", "`form` of what is printed: text or json")
	up.register(root.Flags())
	root.AddCommand(newDemoCommand(), newChaosCommand())
	return root
}

func noArguments(_ *cobra.Command, arguments []string) error {
	if len(arguments) > 0 {
		return usageError{fmt.Errorf("unknown command or argument %q", arguments[0])}
	}
	return nil
}

// outputForm returns how results are printed.
func outputForm(command *cobra.Command) (string, error) {
	output, err := command.Flags().GetString("output")
	if err != nil {
		return "", err
	}
	if output != "text" && output != "json" {
		return "", usageError{fmt.Errorf("--output must be text or json, not %q", output)}
	}
	return output, nil
}

// report tells a person or a program what went wrong. A failed write has
// nowhere to be told.
func report(stderr io.Writer, root *cobra.Command, err error) {
	code, message := describe(err)
	if code == (usageError{}).Code() {
		message += "; see writ-dev --help"
	}
	if output, _ := root.PersistentFlags().GetString("output"); output == "json" {
		_ = json.NewEncoder(stderr).Encode(map[string]any{"error": map[string]string{"code": code, "message": message}})
		return
	}
	fmt.Fprintf(stderr, "writ-dev: %s: %s\n", code, message)
}

// codeUnexpected is the code of a failure that nobody gave one, which is a
// defect. It says nothing about effects, unlike Writ's own code "failed".
const codeUnexpected = "unexpected"

// describe returns an error's stable code and its text without the code.
func describe(err error) (code, message string) {
	var coded interface{ Code() string }
	var failure *writ.Error
	switch {
	case errors.As(err, &coded):
		return coded.Code(), err.Error()
	case errors.As(err, &failure):
		return string(failure.Code), failure.Message
	default:
		return codeUnexpected, err.Error()
	}
}
