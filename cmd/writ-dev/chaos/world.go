package chaos

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"

	"writ"
	"writ/cmd/writ-dev/stack"
	"writ/internal/loopback"
)

// startPatience bounds the start of everything.
const startPatience = 3 * time.Minute

// world is everything that runs.
type world struct {
	options Options
	folder  string

	database *database
	server   *keeper // Temporal
	provider *provider
	workers  []*keeper // and the processes that only recover, which are killed and frozen as they are

	toPostgres, toTemporal, toProvider *link

	temporal client.Client // without a proxy
	client   *writ.Client  // through the proxies, as the callers are
	stops    []func(context.Context) error
}

// start starts everything and returns when all workers are ready.
func (w *world) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, startPatience, fmt.Errorf("the start took longer than %s", startPatience))
	defer cancel()
	for _, step := range []struct {
		what string
		run  func(context.Context) error
	}{
		{"PostgreSQL", w.startDatabase}, {"Temporal", w.startTemporal}, {"the provider", w.startProvider},
		{"the proxies", w.openLinks}, {"the workers", w.startWorkers}, {"the clients", w.connect},
	} {
		w.options.Progress("starting " + step.what + "…")
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("start %s: %w", step.what, err)
		}
	}
	return nil
}

func (w *world) startDatabase(ctx context.Context) error {
	port, err := loopback.FreePort()
	if err != nil {
		return err
	}
	if w.database, err = startDatabase(ctx, filepath.Join(w.folder, "postgres"), port); err != nil {
		return err
	}
	w.stops = append(w.stops, w.database.close)
	return nil
}

// startTemporal keeps a writ-dev that runs nothing but Temporal, and migrates the outbox.
func (w *world) startTemporal(ctx context.Context) (err error) {
	port, err := loopback.FreePort()
	if err != nil {
		return err
	}
	direct := stack.Addresses{DatabaseURL: w.database.url()}
	w.server, err = w.keep(ctx, "temporal", func() *exec.Cmd {
		command := exec.Command(w.options.Self, "--data-dir", filepath.Join(w.folder, "temporal"), "--no-worker", "--no-provider", "--no-ui",
			"--temporal-store", string(stack.TemporalInPostgres), "--temporal-port", strconv.Itoa(port), "-o", "json")
		command.Env = direct.ChildEnvironment()
		return command
	})
	if err != nil {
		return err
	}
	w.temporal, err = client.NewLazyClient(client.Options{
		HostPort: loopback.Address(port), Namespace: stack.Namespace,
		Logger: sdklog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	if err != nil {
		return err
	}
	w.stops = append(w.stops, func(context.Context) error {
		w.temporal.Close()
		return nil
	})
	if w.toTemporal, err = w.open("temporal", loopback.Address(port)); err != nil {
		return err
	}
	return w.server.awaitReady(ctx)
}

func (w *world) startProvider(ctx context.Context) error {
	port, err := loopback.FreePort()
	if err != nil {
		return err
	}
	sandbox, err := w.keep(ctx, "provider", func() *exec.Cmd {
		return exec.Command(w.options.Provider, "--listen", loopback.Address(port), "--ledger", w.ledger(), "-o", "json")
	})
	if err != nil {
		return err
	}
	w.provider = newProvider("http://" + loopback.Address(port))
	if w.toProvider, err = w.open("provider", loopback.Address(port)); err != nil {
		return err
	}
	return sandbox.awaitReady(ctx)
}

// openLinks opens what is left of the proxies.
func (w *world) openLinks(context.Context) error {
	address, err := url.Parse(w.database.url())
	if err != nil {
		return err
	}
	w.toPostgres, err = w.open("postgres", address.Host)
	return err
}

// addresses are those that workers and callers have.
func (w *world) addresses() (stack.Addresses, error) {
	address, err := url.Parse(w.database.url())
	if err != nil {
		return stack.Addresses{}, err
	}
	address.Host = w.toPostgres.address()
	return stack.Addresses{
		DatabaseURL: address.String(), TemporalAddress: w.toTemporal.address(), TemporalNamespace: stack.Namespace,
		ProviderURL: "http://" + w.toProvider.address(), TaskQueue: writ.DefaultTaskQueue,
	}, nil
}

// startWorkers starts the workers, and beside them what only recovers.
func (w *world) startWorkers(ctx context.Context) error {
	addresses, err := w.addresses()
	if err != nil {
		return err
	}
	folder, err := w.writePolicies()
	if err != nil {
		return err
	}
	for _, part := range []struct {
		command string
		count   int
	}{{"worker", w.options.Workers}, {"recover", recoverers}} {
		for n := range part.count {
			kept, err := w.keep(ctx, fmt.Sprintf("%s-%d", part.command, n+1), func() *exec.Cmd {
				command := exec.Command(w.options.Writ, part.command, "-o", "json")
				command.Env = append(addresses.ChildEnvironment(), "WRIT_POLICIES="+folder)
				return command
			})
			if err != nil {
				return err
			}
			w.workers = append(w.workers, kept)
		}
	}
	for _, worker := range w.workers {
		if err := worker.awaitReady(ctx); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) connect(ctx context.Context) error {
	addresses, err := w.addresses()
	if err != nil {
		return err
	}
	w.client, err = writ.Dial(ctx, writ.Config{
		DatabaseURL: addresses.DatabaseURL,
		Temporal:    client.Options{HostPort: addresses.TemporalAddress, Namespace: addresses.TemporalNamespace},
		Logger:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return err
	}
	w.stops = append(w.stops, func(context.Context) error {
		w.client.Close()
		return nil
	})
	return nil
}

// keep starts a process that runs until the world stops.
func (w *world) keep(ctx context.Context, name string, command func() *exec.Cmd) (*keeper, error) {
	kept, err := keep(ctx, w.folder, name, command)
	if err == nil {
		w.stops = append(w.stops, kept.close)
	}
	return kept, err
}

// open puts a proxy before a part.
func (w *world) open(name, upstream string) (*link, error) {
	opened, err := openLink(name, upstream)
	if err == nil {
		w.stops = append(w.stops, opened.close)
	}
	return opened, err
}

// ledger is the path of the provider's books.
func (w *world) ledger() string { return filepath.Join(w.folder, "ledger.jsonl") }

// stop stops everything in the reverse order of its start.
func (w *world) stop(ctx context.Context) error {
	var failures []error
	for i := len(w.stops) - 1; i >= 0; i-- {
		failures = append(failures, w.stops[i](ctx))
	}
	return errors.Join(failures...)
}
