package stack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"writ/cmd/writ-dev/embedded"
	"writ/internal/loopback"
	"writ/internal/sandbox"
)

// temporalPatience bounds Temporal's start, the update of its schema aside.
const temporalPatience = time.Minute

func (s *Stack) startTemporal(ctx context.Context) error {
	store, err := s.temporalStore(ctx)
	if err != nil {
		return err
	}
	port, err := portOrFree(s.options.TemporalPort)
	if err != nil {
		return err
	}
	log, err := openLog(filepath.Join(s.folder.Path(), "temporal.log"))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, temporalPatience)
	defer cancel()
	server, err := embedded.StartTemporal(ctx, embedded.TemporalOptions{
		Store: store, Port: port, Namespace: Namespace, Log: log, LogLevel: s.options.TemporalLogLevel,
	})
	if err != nil {
		return errors.Join(portError(err, "Temporal", "--temporal-port"), log.Close())
	}
	s.started("Temporal", func(ctx context.Context) error {
		return errors.Join(within(ctx, server.Stop), log.Close())
	})
	s.addresses.TemporalAddress = server.Address()
	return nil
}

func (s *Stack) startUI(ctx context.Context) error {
	port, err := portOrFree(s.options.UIPort)
	if err != nil {
		return err
	}
	ui, err := embedded.StartUI(ctx, s.addresses.TemporalAddress, Namespace, port)
	if err != nil {
		return portError(err, "Temporal's web UI", "--ui-port")
	}
	s.started("Temporal's web UI", func(context.Context) error {
		ui.Stop()
		return nil
	})
	s.addresses.UIURL = ui.URL()
	return nil
}

func (s *Stack) startProvider(context.Context) error {
	listener, err := net.Listen("tcp4", loopback.Address(s.options.ProviderPort))
	if errors.Is(err, syscall.EADDRINUSE) {
		err = portError(&loopback.PortError{Port: s.options.ProviderPort, Err: err}, "the sandbox provider", "--provider-port")
	}
	if err != nil {
		return err
	}
	ledger := filepath.Join(s.folder.Path(), "ledger.jsonl")
	service, err := sandbox.Serve(listener, sandbox.Config{LedgerPath: ledger, Logger: s.options.Logger})
	if err != nil {
		return ledgerError(err, ledger)
	}
	s.started("the sandbox provider", service.Stop)
	go func() {
		if err, failed := <-service.Failed(); failed {
			s.fail(fmt.Errorf("the sandbox provider ended by itself: %w", err))
		}
	}()
	s.addresses.ProviderURL = "http://" + listener.Addr().String()
	return nil
}

func portOrFree(port int) (int, error) {
	if port != 0 {
		return port, nil
	}
	return loopback.FreePort()
}

// within runs stop, which takes no context, and gives up on it when ctx ends.
func within(ctx context.Context, stop func() error) error {
	done := make(chan error, 1)
	go func() { done <- stop() }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
