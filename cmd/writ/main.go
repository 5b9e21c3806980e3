// Command writ asks for tools to be run, shows what became of it, hosts tools, and keeps
// the schema of the outbox.
//
// What a command answers goes to standard output: text for people, or with -o json one
// JSON document, also for a failure. Everything else (progress, logs, what went wrong and
// what to do) goes to standard error. The exit status says what is known of the effect;
// see statuses.
//
// It must never decide anything about an effect by itself: it parses, calls package writ,
// and prints.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	// A reader that went away must not end a worker in the middle of a call, nor hide a
	// command's exit status: the write fails instead.
	signal.Ignore(syscall.SIGPIPE)
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	go stopOn(signals, cancel)
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// stopOn asks the command to stop at the first signal and ends the process at the second one. It
// does not leave the second one to the kernel, which drops a signal that process 1 of a container
// has no handler for.
func stopOn(signals <-chan os.Signal, stop func()) {
	<-signals
	stop()
	status := 128
	if second, ok := (<-signals).(syscall.Signal); ok {
		status += int(second) // as a shell tells that a signal ended a command
	}
	os.Exit(status)
}
