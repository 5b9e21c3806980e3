package demo

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"

	"writ"
	"writ/cmd/writ-dev/stack"
	"writ/internal/sandbox"
)

const (
	// dropEvery is which of the provider's answers is dropped after it acted.
	dropEvery = 10
	// patience bounds the captures; stopPatience the stop of what was started.
	patience     = 5 * time.Minute
	stopPatience = time.Minute
)

// Options say what the demonstration uses.
type Options struct {
	// Writ is the path of the writ program, whose workers run and are killed.
	Writ string
	// Captures is the path of a file with one capture a line.
	Captures string
	// Progress is called with a short sentence at each step.
	Progress func(string)
}

// demonstration is what is running.
type demonstration struct {
	options   Options
	addresses stack.Addresses
	workers   []*worker
	provider  *sandbox.Client
	client    *writ.Client
	database  *pgx.Conn
	stops     []func(context.Context) error
}

// ErrInterrupted is the error of a demonstration whose context ended;
// everything that was started has been stopped.
var ErrInterrupted = errors.New("the demonstration was interrupted and has proven nothing: run it again")

// Run runs the demonstration on a stack of its own, which is gone at the end.
// The error is about the set-up or a part that failed; whether each capture
// happened once is in the report.
func Run(ctx context.Context, options Options) (Report, error) {
	captures, err := readCaptures(options.Captures)
	if err != nil {
		return Report{}, err
	}
	d := &demonstration{options: options}
	report, err := d.run(ctx, captures)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	stopErr := d.stop(stopping)
	if ctx.Err() != nil {
		err = ErrInterrupted
	}
	return report, errors.Join(err, stopErr)
}

func (d *demonstration) run(ctx context.Context, captures []capture) (Report, error) {
	if err := d.start(ctx); err != nil {
		return Report{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, fmt.Errorf("the captures took longer than %s", patience))
	defer cancel()
	dead, err := d.perform(ctx, captures)
	if err != nil {
		return Report{}, err
	}
	return judge(ctx, captures, dead, d.client, d.provider)
}

// start starts the stack, a provider that misbehaves, and two workers.
func (d *demonstration) start(ctx context.Context) error {
	running, err := stack.Start(ctx, stack.Options{
		Ephemeral: true, NoWorker: true, NoUI: true, Progress: d.options.Progress,
	})
	if err != nil {
		return err
	}
	d.stops = append(d.stops, running.Stop)
	d.addresses = running.Addresses()

	d.provider = sandbox.NewClient(d.addresses.ProviderURL)
	always := 0
	_, err = d.provider.AddFault(ctx, sandbox.Fault{Fault: sandbox.FaultDropAfterAct, Every: dropEvery, Times: &always})
	if err != nil {
		return fmt.Errorf("make the provider drop answers: %w", err)
	}
	d.options.Progress("starting two workers…")
	for range 2 {
		if _, err := d.addWorker(ctx); err != nil {
			return err
		}
	}
	return d.connect(ctx)
}

func (d *demonstration) connect(ctx context.Context) (err error) {
	d.client, err = writ.Dial(ctx, writ.Config{
		DatabaseURL: d.addresses.DatabaseURL,
		Temporal:    client.Options{HostPort: d.addresses.TemporalAddress, Namespace: d.addresses.TemporalNamespace},
		Logger:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	d.stops = append(d.stops, func(context.Context) error {
		d.client.Close()
		return nil
	})
	if d.database, err = pgx.Connect(ctx, d.addresses.DatabaseURL); err != nil {
		return fmt.Errorf("connect to PostgreSQL: %w", err)
	}
	d.stops = append(d.stops, d.database.Close)
	return nil
}

func (d *demonstration) addWorker(ctx context.Context) (*worker, error) {
	added, err := startWorker(ctx, d.options.Writ, fmt.Sprintf("worker-%d", len(d.workers)+1), d.addresses)
	if err != nil {
		return nil, err
	}
	d.workers = append(d.workers, added)
	d.stops = append(d.stops, added.stop)
	return added, nil
}

// perform asks for the captures and kills a worker meanwhile.
func (d *demonstration) perform(ctx context.Context, captures []capture) (casualty, error) {
	d.options.Progress(fmt.Sprintf("asking two workers for %d captures; the provider drops every %dth answer after it acted…",
		len(captures), dropEvery))
	ctx, cancel := context.WithCancel(ctx)
	submitted := submit(ctx, d.client, captures, d.options.Progress)
	defer func() {
		cancel()
		<-submitted.ended
	}()
	select {
	case <-submitted.first:
	case <-submitted.ended:
	}
	victim := d.workers[0]
	dead, err := killInFlight(ctx, d.database, victim, submitted.ended)
	if err != nil {
		return casualty{}, errors.Join(err, context.Cause(ctx))
	}
	d.options.Progress(fmt.Sprintf("killed %s (process %d) with SIGKILL while it had %d captures in flight; starting another…",
		victim.name, victim.process.PID(), len(dead.inFlight)))
	if _, err := d.addWorker(ctx); err != nil {
		return casualty{}, err
	}
	<-submitted.ended
	if submitted.err != nil {
		// What was not captured is in the report; why, only here.
		d.options.Progress("some callers were told of a failure: " + submitted.err.Error())
	}
	return dead, context.Cause(ctx)
}

// stop stops everything in the reverse order of its start.
func (d *demonstration) stop(ctx context.Context) error {
	var failures []error
	for i := len(d.stops) - 1; i >= 0; i-- {
		failures = append(failures, d.stops[i](ctx))
	}
	return errors.Join(failures...)
}
