package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"path/filepath"
	"syscall"
	"time"

	"writ/internal/sandbox"
	"writ/internal/statedir"
)

// shutdownGrace is how long answers that are being sent may take after a signal.
const shutdownGrace = 5 * time.Second

// serve runs the provider until ctx ends.
func serve(ctx context.Context, opts options, stdout io.Writer, log *slog.Logger) error {
	path, err := ledgerPath(opts.ledger)
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", opts.listen)
	if err != nil {
		return listenFailure(opts.listen, err)
	}
	provider, err := sandbox.New(sandbox.Config{LedgerPath: path, Logger: log})
	if err != nil {
		listener.Close()
		return ledgerFailure(path, err)
	}
	server := &http.Server{
		Handler:           provider.Handler(),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	// The socket accepts since Listen, so whoever reads this line can connect.
	if err := announce(stdout, opts.output, "http://"+listener.Addr().String(), path); err != nil {
		return errors.Join(err, stop(provider, server))
	}
	select {
	case err := <-served:
		return errors.Join(
			&failure{code: "serve_failed", message: "the provider cannot go on listening; start it again", exit: exitInfrastructure, cause: err},
			provider.Close())
	case <-ctx.Done():
		return stop(provider, server)
	}
}

// stop ends the provider first: hanging requests and waits would otherwise keep the HTTP server from ending.
func stop(provider *sandbox.Server, server *http.Server) error {
	if err := provider.Close(); err != nil {
		server.Close()
		return &failure{code: "ledger_failed", message: "the ledger could not be closed: " + err.Error() + "; check the disk", exit: exitInfrastructure, cause: err}
	}
	ctx, cancel := context.WithTimeout(context.Background(), shutdownGrace)
	defer cancel()
	if err := server.Shutdown(ctx); err != nil {
		server.Close() // a client that does not read its answer cannot keep the provider alive; every effect is on the disk
	}
	return nil
}

func announce(stdout io.Writer, output, address, ledger string) error {
	var err error
	if output == "json" {
		err = json.NewEncoder(stdout).Encode(struct {
			Address string `json:"address"`
			Ledger  string `json:"ledger"`
		}{address, ledger})
	} else {
		_, err = fmt.Fprintf(stdout, "sandbox provider at %s, ledger %s\n", address, ledger)
	}
	if err != nil {
		return &failure{code: "output_failed", message: "the ready line could not be written; check standard output", exit: exitInfrastructure, cause: err}
	}
	return nil
}

func listenFailure(address string, err error) error {
	if errors.Is(err, syscall.EADDRINUSE) {
		return &failure{
			code:    "port_in_use",
			message: address + " is taken by another process; stop it, or choose another address with --listen (port 0 takes a free one)",
			exit:    exitInfrastructure, cause: err,
		}
	}
	return &failure{
		code:    "listen_failed",
		message: fmt.Sprintf("cannot listen on %s (%v); choose another address with --listen", address, err),
		exit:    exitInfrastructure, cause: err,
	}
}

func ledgerFailure(path string, err error) error {
	f := &failure{exit: exitInfrastructure, cause: err}
	switch {
	case errors.Is(err, sandbox.ErrLedgerInUse):
		f.code, f.message = "ledger_in_use", path+" is used by another provider; stop it, or choose another file with --ledger"
	case errors.Is(err, sandbox.ErrLedgerCorrupt):
		f.code, f.message = "ledger_corrupt", err.Error()+"; restore the file, or choose another with --ledger"
	default:
		f.code, f.message = "ledger_not_writable", err.Error()+"; make it writable, or choose another file with --ledger"
	}
	return f
}

// ledgerPath is the given path made absolute, or the default one.
func ledgerPath(given string) (string, error) {
	if given == "" {
		state, err := statedir.Default()
		if err != nil {
			return "", &failure{code: "no_state_folder", message: "no folder for the ledger is known; name a file with --ledger", exit: exitInfrastructure, cause: err}
		}
		given = filepath.Join(state, "provider", "ledger.jsonl")
	}
	path, err := filepath.Abs(given)
	if err != nil {
		return "", &failure{code: "no_state_folder", message: "the working folder is gone; name an absolute file with --ledger", exit: exitInfrastructure, cause: err}
	}
	return path, nil
}
