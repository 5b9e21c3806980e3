// Command writ-provider runs the sandbox payment and document provider, with which Writ is tried, tested and measured.
//
// It prints one line when it is ready, serves until SIGINT or SIGTERM, and leaves with 0. It must never be put before
// anything real: it performs whatever it is asked to and has no credentials.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}
