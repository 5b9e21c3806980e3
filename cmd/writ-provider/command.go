package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"time"

	"github.com/spf13/cobra"
)

// The exit statuses.
const (
	exitOK             = 0
	exitInfrastructure = 1
	exitUsage          = 2
)

// options are the flags.
type options struct {
	listen        string
	ledger        string
	output        string
	keyWindow     time.Duration
	businessRules bool
}

// failure is an error with a stable code and a sentence that says what to do.
type failure struct {
	code    string
	message string
	exit    int
	cause   error
}

func (f *failure) Error() string { return f.code + ": " + f.message }
func (f *failure) Unwrap() error { return f.cause }

func usage(err error) *failure {
	return &failure{code: "usage", message: err.Error() + "; see writ-provider --help", exit: exitUsage, cause: err}
}

// run is the whole program but for the process around it; it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var opts options
	cmd := newCommand(&opts, stderr)
	cmd.SetArgs(args)
	cmd.SetOut(stdout)
	cmd.SetErr(stderr)
	err := cmd.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	var f *failure
	if !errors.As(err, &f) {
		f = usage(err) // everything that cobra itself finds is in the arguments
	}
	report(stderr, opts.output, f)
	return f.exit
}

func newCommand(opts *options, stderr io.Writer) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "writ-provider",
		Short: "Run the sandbox payment and document provider",
		Long: `Runs a provider of payments, documents and notifications that keeps its own books.

Every effect that it performs is one line of its ledger, on the disk before the answer
leaves; GET /ledger shows it. It honours Idempotency-Key and misbehaves on request:
POST /admin/faults makes chosen requests fail before or after they acted, hang, land late
or be refused, and chosen lookups lag.

The ledger outlives the process, also when it is killed.`,
		Example: `  writ-provider
  writ-provider --listen 127.0.0.1:0 --ledger ./ledger.jsonl -o json

  curl -s 127.0.0.1:7766/v1/payments/capture -H 'Idempotency-Key: k-1' \
    -d '{"payment_id":"pay_1","amount":"125.00","currency":"EUR"}'
  curl -s 127.0.0.1:7766/admin/faults -d '{"fault":"drop_after_act","every":10,"times":0}'
  curl -s 127.0.0.1:7766/ledger`,
		Args:              cobra.NoArgs,
		SilenceUsage:      true,
		SilenceErrors:     true,
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := opts.check(cmd); err != nil {
				return usage(err)
			}
			return serve(cmd.Context(), *opts, cmd.OutOrStdout(), slog.New(slog.NewTextHandler(stderr, nil)))
		},
	}
	cmd.Flags().StringVar(&opts.listen, "listen", "127.0.0.1:7766", "`address` to listen on; port 0 takes a free one")
	cmd.Flags().StringVar(&opts.ledger, "ledger", "", "`file` of the ledger (default: provider/ledger.jsonl in Writ's state folder)")
	cmd.Flags().DurationVar(&opts.keyWindow, "key-window", 0, "how long a key is remembered, from the first answer under it on; 0 is for ever")
	cmd.Flags().BoolVar(&opts.businessRules, "business-rules", false, "refuse to capture a payment, or delete a document, that was captured or deleted before")
	cmd.Flags().StringVarP(&opts.output, "output", "o", "text", "`form` of the ready line and of errors: text or json")
	return cmd
}

// check finds what cannot be meant, before anything is opened.
func (o *options) check(cmd *cobra.Command) error {
	if o.output != "text" && o.output != "json" {
		return fmt.Errorf("--output must be text or json, not %q", o.output)
	}
	if o.ledger == "" && cmd.Flags().Changed("ledger") {
		return errors.New("--ledger is empty: name a file, or leave it out for the default one") // a variable that is not set
	}
	if o.keyWindow < 0 {
		return errors.New("--key-window must not be negative")
	}
	_, port, err := net.SplitHostPort(o.listen)
	if err == nil {
		_, err = net.DefaultResolver.LookupPort(cmd.Context(), "tcp", port)
	}
	if err != nil {
		return fmt.Errorf("--listen must be host:port with a port from 0 to 65535, not %q", o.listen)
	}
	return nil
}

// report tells the user what went wrong. A failed write has nowhere to be told.
func report(stderr io.Writer, output string, f *failure) {
	if output == "json" {
		_ = json.NewEncoder(stderr).Encode(map[string]any{"error": map[string]string{"code": f.code, "message": f.message}})
		return
	}
	fmt.Fprintf(stderr, "writ-provider: %s\n", f)
}
