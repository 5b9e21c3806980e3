package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"syscall"

	"writ/internal/sandbox"
	"writ/internal/statedir"
)

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
	service, err := sandbox.Serve(listener, sandbox.Config{
		LedgerPath: path, KeyWindow: opts.keyWindow, BusinessRules: opts.businessRules, Logger: log,
	})
	if err != nil {
		return ledgerFailure(path, err)
	}
	// The socket accepts since Listen, so whoever reads this line can connect.
	if err := announce(stdout, opts.output, "http://"+listener.Addr().String(), path); err != nil {
		return errors.Join(err, stop(ctx, service))
	}
	select {
	case err := <-service.Failed():
		return errors.Join(
			&failure{code: "serve_failed", message: "the provider cannot go on listening; start it again", exit: exitInfrastructure, cause: err},
			stop(ctx, service))
	case <-ctx.Done():
		return stop(ctx, service)
	}
}

func stop(ctx context.Context, service *sandbox.Service) error {
	if err := service.Stop(context.WithoutCancel(ctx)); err != nil {
		return &failure{code: "ledger_failed", message: "the ledger could not be closed: " + err.Error() + "; check the disk", exit: exitInfrastructure, cause: err}
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
