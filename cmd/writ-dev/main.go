// Command writ-dev runs everything that Writ needs in one process:
// PostgreSQL, Temporal, Temporal's web UI, the sandbox provider and a worker
// with the sample tools. It is for development, tests and demonstrations.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	go func() {
		<-signals
		cancel()
		<-signals // whoever asks twice does not want to wait; PostgreSQL stops by itself
		os.Exit(exitFailure)
	}()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
