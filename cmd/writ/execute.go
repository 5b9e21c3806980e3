package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

// executeFlags are the flags of writ execute.
type executeFlags struct {
	request string
	payload string
	key     string
	tenant  string
	service string
	identityFlags
	detach  bool
	timeout time.Duration
	risk    float64
}

func newExecuteCommand(p *program) *cobra.Command {
	var f executeFlags
	cmd := &cobra.Command{
		Use:   "execute [TOOL]",
		Short: "Run a tool once and wait for its receipt",
		Long: `Asks for one run of a tool and waits for its end.

--key is your own name for this one action, an order number for instance. The same key with
the same payload again gives the first answer and sends nothing; with another payload it
exits 7. Without --key every call is an action of its own, under a new key that standard error
shows before anything is sent: give it to --key to ask for the same action again.

--request takes the whole request as one JSON object instead: tool, payload, request_key, tenant,
principal, roles, on_behalf_of, service, process, run and risk, with exactly these names, each of
them once.

An intent that was accepted goes on when this command is interrupted or times out; the same
command with the same --key waits for it again. --detach returns as soon as the intent is
committed.

Exit statuses: 0 completed, 1 infrastructure or not known yet, 2 usage or bad input, 3 refused,
4 failed and nothing happened, 5 in doubt or contradicted by later evidence, 6 waiting for a
confirmation, 7 the key names another action.

With -o json the answer is {"intent":…,"receipt":…,"answer":…}, or with --detach the intent. A
failure is {"error":{"code","message","effect","try_again"},…} with what is known of the intent.`,
		Example: `  writ execute echo --payload '{"hello":"world"}'
  writ execute payments.capture --key order-4711 --payload @capture.json
  jq '{payment_id, amount}' refund.json | writ execute payments.refund --key refund-4711 --payload -
  writ execute documents.delete --key erase-17 --payload '{"document_id":"doc_17"}' --detach -o json
  writ execute --request '{"tool":"echo","payload":{"hello":"world"},"request_key":"hello-1"}'`,
		Args: toolOrRequest,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return p.execute(cmd.Context(), args, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.request, "request", "", "the whole request: a `JSON` object, @FILE, or - for standard input")
	flags.StringVar(&f.payload, "payload", "{}", "`JSON` object, @FILE, or - for standard input; at most $WRIT_MAX_PAYLOAD bytes, else 1 MiB")
	flags.StringVar(&f.key, "key", "", "request `key`: your own name for this action (default: a new one)")
	flags.StringVar(&f.tenant, "tenant", writ.DefaultTenant, "`tenant` whose action it is")
	f.registerPrincipal(cmd, "who asks")
	f.registerStanding(cmd, "who asks")
	flags.StringVar(&f.service, "service", serviceName, "`name` of the service that asks")
	flags.Float64Var(&f.risk, "risk", 0, "what is at risk, a `number` from 0 to 1; it can only raise what the tool states")
	flags.BoolVar(&f.detach, "detach", false, "return as soon as the intent is committed")
	flags.DurationVar(&f.timeout, "timeout", 0, "stop waiting after this `duration`, such as 30s; the intent goes on (default: wait for the end)")
	return cmd
}

// check refuses a flag that was given and is empty, as a script's unset variable leaves it:
// an empty --key taken for "none" would make every repetition an action of its own.
func (f *executeFlags) check(cmd *cobra.Command) error {
	if err := noneEmpty(cmd.Flags(), "payload", "time-zone"); err != nil {
		return err
	}
	given := cmd.Flags().Changed
	if given("key") {
		if err := intent.CheckRequestKey(f.key); err != nil {
			return err
		}
	}
	if given("service") {
		if err := intent.CheckName("service", f.service); err != nil {
			return err
		}
	}
	if given("tenant") {
		if err := intent.CheckName("tenant", f.tenant); err != nil {
			return err
		}
	}
	if err := checkTimeout(cmd, f.timeout); err != nil {
		return err
	}
	return f.identityFlags.resolve(cmd)
}

// checkTimeout checks the value of --timeout, which is 0 if it was not given.
func checkTimeout(cmd *cobra.Command, timeout time.Duration) error {
	if timeout < 0 || cmd.Flags().Changed("timeout") && timeout == 0 {
		return usage("--timeout must be longer than 0")
	}
	return nil
}

func (p *program) execute(ctx context.Context, args []string, f executeFlags) error {
	if f.timeout > 0 { // it bounds the wait for the payload, too
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, f.timeout)
		defer cancel()
	}
	client, err := p.dial(ctx) // it opens nothing yet, and knows how large a payload may be
	if err != nil {
		return err
	}
	defer client.Close()
	request, err := p.request(ctx, args, f, client.MaxPayload())
	if err != nil {
		return err
	}
	if request.RequestKey == "" {
		if err := p.mintKey(client, &request, f); err != nil {
			return err
		}
	}
	again := f.joins(request)
	if f.detach {
		return p.submit(ctx, client, request, again)
	}
	stop := p.showProgress(ctx, client, request)
	done, err := client.Execute(ctx, request)
	stop()
	return p.printExecution(done, err, again)
}

// mintKey gives the request a key and shows it before anything is sent: a terminal that
// dies must not lose the name of what may have been accepted. A request that is refused
// for what it is shows none.
func (p *program) mintKey(client *writ.Client, request *writ.Request, f executeFlags) error {
	key, err := writ.NewRequestKey()
	if err != nil {
		return err
	}
	request.RequestKey = string(key)
	if err := client.Check(*request); err != nil {
		return err
	}
	fmt.Fprintf(p.stderr, "writ: request key %s; the same command with %s joins this intent\n", key, f.againWith(*request))
	return nil
}

func (p *program) submit(ctx context.Context, client *writ.Client, request writ.Request, again string) error {
	stop := p.showProgress(ctx, client, request) // with no worker about, nobody commits the intent
	accepted, err := client.Submit(ctx, request)
	stop()
	if err != nil {
		return &executionError{cause: err, execution: writ.Execution{Intent: accepted}, again: again}
	}
	p.warnOfRepeat(accepted)
	return p.print(accepted, func(w io.Writer) { writeAccepted(w, accepted) })
}

// printExecution prints an intent that ended or is parked. What did not complete is the
// command's error; again says what the same command does where its end is open.
func (p *program) printExecution(done writ.Execution, err error, again string) error {
	p.warnOfRepeat(done.Intent)
	p.warnOfContradiction(done.Intent)
	if err == nil {
		return p.print(done, func(w io.Writer) { writeExecution(w, done) })
	}
	failure := &executionError{cause: err, execution: done, again: again}
	if p.output == outputText && done.Intent.State != "" {
		if err := p.print(nil, func(w io.Writer) { writeExecution(w, done) }); err != nil {
			p.log.Error("the intent could not be shown", "error", err)
		}
	}
	return failure
}
