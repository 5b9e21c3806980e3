package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"writ/cmd/writ-dev/stack"
	"writ/internal/statedir"
	"writ/telemetry"
)

// stopPatience bounds a clean stop.
const stopPatience = time.Minute

// upFlags are the flags of the stack.
type upFlags struct {
	dataDir       string
	ephemeral     bool
	temporalStore string
	logLevel      string
	taskQueue     string

	postgresPort, temporalPort, uiPort, providerPort int
	noWorker, noProvider, noUI                       bool
}

func (f *upFlags) register(flags *pflag.FlagSet) {
	flags.StringVar(&f.dataDir, "data-dir", "", "`folder` that keeps the state (default: writ in the user's state folder; /var/lib/writ for root)")
	flags.BoolVar(&f.ephemeral, "ephemeral", false, "keep the state in temporary folders that are removed at the end, and take free ports")
	flags.BoolVar(&f.noWorker, "no-worker", false, "start no worker in this process")
	flags.BoolVar(&f.noProvider, "no-provider", false, "start no sandbox provider; the worker calls the one of WRIT_PROVIDER_URL")
	flags.BoolVar(&f.noUI, "no-ui", false, "start no Temporal web UI")
	flags.StringVar(&f.temporalStore, "temporal-store", string(stack.TemporalInPostgres), "where Temporal keeps its state: postgres or memory")
	flags.StringVar(&f.taskQueue, "task-queue", os.Getenv("WRIT_TASK_QUEUE"), "Temporal task queue of the worker (default: WRIT_TASK_QUEUE, else writ)")
	flags.IntVar(&f.postgresPort, "postgres-port", 0, "`port` of the private PostgreSQL; 0 takes a free one")
	flags.IntVar(&f.temporalPort, "temporal-port", stack.DefaultTemporalPort, "`port` of Temporal; 0 takes a free one")
	flags.IntVar(&f.uiPort, "ui-port", stack.DefaultUIPort, "`port` of Temporal's web UI; 0 takes a free one")
	flags.IntVar(&f.providerPort, "provider-port", stack.DefaultProviderPort, "`port` of the sandbox provider; 0 takes a free one")
	flags.StringVar(&f.logLevel, "log-level", "warn", "what to log: debug, info, warn or error; Temporal logs to the data folder, the rest to stderr")
	flags.Lookup("task-queue").DefValue = ""
}

// options turns the flags and the environment into the stack's options.
func (f *upFlags) options(flags *pflag.FlagSet, stderr io.Writer) (stack.Options, error) {
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return stack.Options{}, usageError{fmt.Errorf("--log-level must be debug, info, warn or error, not %q", f.logLevel)}
	}
	store := stack.TemporalStore(f.temporalStore)
	if store != stack.TemporalInPostgres && store != stack.TemporalInMemory {
		return stack.Options{}, usageError{fmt.Errorf("--temporal-store must be postgres or memory, not %q", f.temporalStore)}
	}
	if f.ephemeral && f.dataDir != "" {
		return stack.Options{}, usageError{errors.New("--ephemeral keeps no state: leave --data-dir out")}
	}
	for name, port := range map[string]*int{"temporal-port": &f.temporalPort, "ui-port": &f.uiPort, "provider-port": &f.providerPort} {
		if f.ephemeral && !flags.Changed(name) {
			*port = 0
		}
	}
	for name, port := range map[string]int{
		"postgres-port": f.postgresPort, "temporal-port": f.temporalPort, "ui-port": f.uiPort, "provider-port": f.providerPort,
	} {
		if port < 0 || port > 65535 {
			return stack.Options{}, usageError{fmt.Errorf("--%s must be between 0 and 65535, not %d", name, port)}
		}
	}
	if !f.ephemeral && f.dataDir == "" {
		var err error
		if f.dataDir, err = statedir.Default(); err != nil {
			return stack.Options{}, usageError{fmt.Errorf("%w with --data-dir", err)}
		}
	}
	return stack.Options{
		DataDir:       f.dataDir,
		Ephemeral:     f.ephemeral,
		DatabaseURL:   os.Getenv("DATABASE_URL"),
		TemporalStore: store,
		PostgresPort:  f.postgresPort,
		TemporalPort:  f.temporalPort,
		UIPort:        f.uiPort,
		ProviderPort:  f.providerPort,
		NoUI:          f.noUI,
		NoProvider:    f.noProvider,
		NoWorker:      f.noWorker,
		ProviderURL:   os.Getenv("WRIT_PROVIDER_URL"),
		TaskQueue:     f.taskQueue,
		Logger:        slog.New(slog.NewTextHandler(stderr, &slog.HandlerOptions{Level: level})),

		TemporalLogLevel: level.String(),
		Progress:         func(sentence string) { fmt.Fprintln(stderr, sentence) },
	}, nil
}

// run starts the stack, says where it is, and stops it when the context ends.
func (f *upFlags) run(command *cobra.Command) error {
	output, err := outputForm(command)
	if err != nil {
		return err
	}
	stderr := command.ErrOrStderr()
	options, err := f.options(command.Flags(), stderr)
	if err != nil {
		return err
	}
	ctx := command.Context()
	flush, err := telemetry.Setup(ctx, "writ-dev")
	if err != nil {
		return err
	}
	err = serve(ctx, options, output, command.OutOrStdout())
	return errors.Join(err, flush(context.WithoutCancel(ctx)))
}

func serve(ctx context.Context, options stack.Options, output string, stdout io.Writer) error {
	running, err := stack.Start(ctx, options)
	if errors.Is(err, stack.ErrInterrupted) {
		return nil
	}
	if err != nil {
		return err
	}
	err = announce(running.Addresses(), output, stdout)
	if err == nil {
		select {
		case <-ctx.Done():
		case err = <-running.Failed():
		}
	}
	options.Progress("stopping…")
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	return errors.Join(err, running.Stop(stopping))
}

func announce(addresses stack.Addresses, output string, stdout io.Writer) error {
	if output == "json" {
		return json.NewEncoder(stdout).Encode(addresses)
	}
	return addresses.Announce(stdout)
}
