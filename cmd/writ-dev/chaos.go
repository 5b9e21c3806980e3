package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"writ/cmd/writ-dev/chaos"
)

func newChaosCommand() *cobra.Command {
	var options chaos.Options
	var minutes float64
	command := &cobra.Command{
		Use:   "chaos",
		Short: "Break everything while intents run and judge what is left by the books",
		Long: `Starts a world of its own: PostgreSQL, Temporal, the sandbox provider and several
workers, with proxies between them. Asks for intents of every effect class while it
kills and freezes workers, cuts and slows connections, restarts PostgreSQL and
Temporal, empties Temporal's store, terminates, resets and deletes workflows, and lets
the provider misbehave. Then heals everything, waits until the intents have come to
rest, and compares the provider's books, the rows, the receipts and the workflows.

The seed chooses the faults and the requests. Leaves with 0 only if nothing was lost,
nothing happened twice, and whatever is in doubt may be so; else the folder
with the logs and the books stays.`,
		Example: `  writ-dev chaos
  writ-dev chaos --seed 7 --minutes 10 --rate 8 -o json`,
		Args: noArguments,
		RunE: func(command *cobra.Command, _ []string) error {
			options.Length = time.Duration(minutes * float64(time.Minute))
			return runChaos(command, options)
		},
	}
	command.Flags().Uint64Var(&options.Seed, "seed", 1, "`number` that chooses the faults and the requests")
	command.Flags().Float64Var(&minutes, "minutes", 1, "how many `minutes` the faults last; coming to rest takes some more")
	command.Flags().Float64Var(&options.Rate, "rate", chaos.DefaultRate, "how many `intents` are asked for in a second")
	command.Flags().IntVar(&options.Workers, "workers", chaos.DefaultWorkers, "`number` of worker processes")
	command.Flags().BoolVar(&options.Keep, "keep", false, "keep the folder with the logs and the books also when nothing was found")
	command.Flags().StringVar(&options.Writ, "writ", "", "`path` of the writ program (default: beside this one)")
	command.Flags().StringVar(&options.Provider, "provider", "", "`path` of the writ-provider program (default: beside writ)")
	return command
}

func runChaos(command *cobra.Command, options chaos.Options) error {
	output, err := outputForm(command)
	if err != nil {
		return err
	}
	if options.Length <= 0 || options.Rate <= 0 || options.Rate > 1000 || options.Workers < 1 {
		return usageError{errors.New("--minutes and --workers must be more than 0, and --rate more than 0 and at most 1,000")}
	}
	if options.Self, err = os.Executable(); err != nil {
		return fmt.Errorf("find the programs: %w; name them with --writ and --provider", err)
	}
	if options.Writ == "" {
		options.Writ = filepath.Join(filepath.Dir(options.Self), "writ")
	}
	if options.Provider == "" {
		options.Provider = filepath.Join(filepath.Dir(options.Writ), "writ-provider")
	}
	if err := errors.Join(checkProgram("--writ", options.Writ), checkProgram("--provider", options.Provider)); err != nil {
		return err
	}
	options.Progress = func(sentence string) { fmt.Fprintln(command.ErrOrStderr(), sentence) }
	report, err := chaos.Run(command.Context(), options)
	if err != nil {
		return err
	}
	return printVerdict(command, output, report)
}
