package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"writ/telemetry"
)

// program is what the commands of one run share.
type program struct {
	stdin          io.Reader
	stdout, stderr io.Writer

	// The flags of every command.
	output     string
	logLevel   string
	logFormat  string
	connection connectionFlags

	log *slog.Logger
	// started says that the command line was understood: what fails afterwards is not the
	// fault of its spelling.
	started bool
	// flush sends the spans that are still buffered.
	flush func(context.Context) error
}

// run is the whole command but for the process around it; it returns the exit status. The
// environment is the process's own, because the libraries underneath read it too.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	p := &program{
		stdin: stdin, stdout: stdout, stderr: stderr, log: slog.New(slog.DiscardHandler),
		flush: func(context.Context) error { return nil },
	}
	cmd := newCommand(p)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(telemetry.FromEnvironment(ctx))
	if err != nil && !p.started {
		err = usage("%w", err) // everything that cobra itself finds is in the arguments
		p.output = formAmong(args)
	}
	p.report(err)
	// A command that was interrupted has spans as well; telemetry bounds the wait.
	if err := p.flush(context.WithoutCancel(ctx)); err != nil {
		p.log.Warn("spans were not sent; nothing else is affected", "error", err)
	}
	return statusOf(err)
}

func newCommand(p *program) *cobra.Command {
	cmd := group("writ", "Run tools so that each effect happens once, with a receipt")
	cmd.Long = `Asks for tools to be run so that each effect on the outside world happens once, and shows
what became of it.

An intent is committed to PostgreSQL with an idempotency key before anything is sent, runs as
a Temporal workflow, and ends with a receipt. The same --key again never runs it twice.

Answers go to standard output, everything else to standard error. With -o json the answer is
one JSON document, also when the command fails: {"error":{"code":…,"message":…,…}}.

Exit statuses:
  0  completed            3  refused; nothing was sent        6  waiting for confirmation
  1  infrastructure       4  failed; no effect happened       7  the key names another action
  2  usage or bad input   5  in doubt                          8  cancelled; nothing happened`
	cmd.Example = `  writ migrate up
  writ worker --provider-url http://127.0.0.1:7766
  writ execute payments.capture --key order-4711 \
    --payload '{"payment_id":"pay_1","amount":"12.90","currency":"EUR"}'
  writ tools list`
	cmd.PersistentPreRunE = p.start
	cmd.SilenceUsage = true
	cmd.SilenceErrors = true
	cmd.CompletionOptions.DisableDefaultCmd = true
	flags := cmd.PersistentFlags()
	flags.StringVarP(&p.output, "output", "o", outputText, "`form` of the answer: text or json")
	flags.StringVar(&p.logLevel, "log-level", "", "least `level` that is logged: debug, info, warn or error (default: warn; of worker and recover: info)")
	flags.StringVar(&p.logFormat, "log-format", outputText, "`form` of the log on standard error: text or json")
	p.connection.register(flags)
	cmd.AddCommand(
		newExecuteCommand(p), newConfirmCommand(p), newDenyCommand(p), newResolveCommand(p), newReissueCommand(p), newDoubtCommand(p),
		newHoldCommand(p), newBudgetCommand(p), newPolicyCommand(p), newScheduleCommand(p), newIntentCommand(p), newEnqueuedCommand(p), newReceiptCommand(p), newToolsCommand(p),
		newWorkerCommand(p), newRecoverCommand(p), newMigrateCommand(p), newDoctorCommand(p), newCodecServerCommand(p),
		newVersionCommand(p),
	)
	return cmd
}

// infoByDefault marks commands that log what they do unless they are told otherwise.
const infoByDefault = "info-by-default"

// start runs before every command, when its command line is known to be well-formed.
func (p *program) start(cmd *cobra.Command, _ []string) error {
	for _, form := range []struct{ flag, value string }{{"output", p.output}, {"log-format", p.logFormat}} {
		if form.value != outputText && form.value != outputJSON {
			return fmt.Errorf("--%s must be text or json, not %q", form.flag, form.value)
		}
	}
	level := slog.LevelWarn
	if _, ok := cmd.Annotations[infoByDefault]; ok {
		level = slog.LevelInfo
	}
	if p.logLevel != "" {
		if err := level.UnmarshalText([]byte(p.logLevel)); err != nil {
			return fmt.Errorf("--log-level must be debug, info, warn or error, not %q", p.logLevel)
		}
	}
	p.started = true
	if err := noneEmpty(cmd.Flags(), p.connection.names()...); err != nil {
		return err // it would be another outbox, the one of the environment
	}
	options := &slog.HandlerOptions{Level: level}
	if p.logFormat == outputJSON {
		p.log = slog.New(slog.NewJSONHandler(p.stderr, options))
	} else {
		p.log = slog.New(slog.NewTextHandler(p.stderr, options))
	}
	slog.SetDefault(p.log) // for libraries that log on their own, telemetry among them
	flush, err := telemetry.Setup(cmd.Context(), "writ")
	if err != nil {
		return err
	}
	p.flush = flush
	return nil
}
