package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"writ"
	"writ/recovery"
)

// recoverFlags are the flags of writ recover.
type recoverFlags struct {
	once, dryRun bool
	every        time.Duration
	startWithin  time.Duration
	dispatch     dispatchFlags
	restored     restoreFlags
}

func newRecoverCommand(p *program) *cobra.Command {
	var f recoverFlags
	cmd := &cobra.Command{
		Use:   "recover",
		Short: "Start intents again that stopped",
		Long: `Finds intents that made no progress by their due time, because their workflow was terminated,
deleted or lost with its cluster, because a decision or an answer was not heard, or because
nobody took them, and starts the same workflow again from the row alone, with the persisted
idempotency key. It also makes intents of the requests that hosts have enqueued. It hosts no
tools, so it sends nothing itself: a worker has to poll.

Every worker does the same beside its work. Any number may run at once: each intent is taken by
one. An intent that waits for a person goes on waiting.

When PostgreSQL was restored from a backup or failed over to a standby, nothing is sent until
--after-restore has said of every open intent that it may have been sent in what was lost. A keyed
intent is then sent again under its key, a reconcilable one is looked up, and an opaque one is in
doubt. It may be interrupted and given again.

Without flags it goes on until SIGINT or SIGTERM. It says on standard error when PostgreSQL and
Temporal have answered, with -o json on standard output: {"ready":true,"pid":…}.`,
		Example: `  writ recover --dry-run
  writ recover --after-restore --before 2026-03-01T12:00:00Z --note "the disk was lost"
  writ recover --once -o json | jq '.counts'`,
		Args:        none,
		Annotations: map[string]string{infoByDefault: ""},
		RunE:        func(cmd *cobra.Command, _ []string) error { return p.recoverIntents(cmd, f) },
	}
	flags := cmd.Flags()
	flags.BoolVar(&f.once, "once", false, "start what is overdue now, say what was started, and end")
	flags.BoolVar(&f.dryRun, "dry-run", false, "list the intents that are overdue now, and change nothing; writ enqueued list has the requests")
	flags.DurationVar(&f.every, "every", recovery.DefaultInterval, "how often to look for intents that stopped")
	flags.DurationVar(&f.startWithin, "start-within", 0, startWithinUsage)
	f.dispatch.register(cmd)
	f.restored.register(cmd)
	return cmd
}

// startWithinUsage is the help of --start-within.
const startWithinUsage = "how `long` to wait for PostgreSQL and Temporal at the start; 0 waits until they answer"

func (p *program) recoverIntents(cmd *cobra.Command, f recoverFlags) error {
	if f.every <= 0 || f.startWithin < 0 {
		return usage("--every must be longer than 0, and --start-within must not be negative")
	}
	if f.once && f.dryRun {
		return usage("--once and --dry-run exclude each other")
	}
	if err := f.dispatch.check(); err != nil {
		return err
	}
	if f.dispatch.every == 0 {
		return usage("--dispatch-every must be longer than 0")
	}
	what, err := f.restored.restore(cmd)
	if err != nil {
		return err
	}
	by, err := f.restored.by.decider(cmd)
	if err != nil {
		return err
	}
	cfg, err := p.config()
	if err != nil {
		return err
	}
	r, err := writ.NewRecovery(writ.RecoveryConfig{Config: cfg, Every: f.every, StartWithin: f.startWithin,
		DispatchEvery: f.dispatch.every, DispatchAtOnce: f.dispatch.atOnce})
	if err != nil {
		return err
	}
	defer r.Close()
	ctx := cmd.Context()
	switch {
	case f.restored.afterRestore:
		return p.trustAgain(ctx, r, what, by)
	case f.dryRun:
		return p.listOverdue(ctx, r)
	case f.once:
		return p.recoverOnce(ctx, r)
	}
	return p.recoverOn(ctx, r)
}

// overdueList is the document of writ recover --dry-run.
type overdueList struct {
	Overdue []writ.Overdue `json:"overdue"`
}

func (p *program) listOverdue(ctx context.Context, r *writ.Recovery) error {
	list := overdueList{Overdue: []writ.Overdue{}}
	err := r.Overdue(ctx, func(o writ.Overdue) error {
		list.Overdue = append(list.Overdue, o)
		return nil
	})
	if err != nil {
		return err
	}
	return p.print(list, func(w io.Writer) {
		if len(list.Overdue) == 0 {
			fmt.Fprintln(w, "nothing is overdue")
			return
		}
		rows := [][]string{{"INTENT", "TENANT", "TOOL", "KEY", "STATE", "DUE"}}
		for _, o := range list.Overdue {
			rows = append(rows, []string{o.ID.String(), o.Tenant, o.Tool, string(o.RequestKey), string(o.State), o.DueAt.Format(time.RFC3339)})
		}
		writeTable(w, rows)
	})
}

// recoveredList is the document of writ recover --once.
type recoveredList struct {
	Counts  recoveredCounts  `json:"counts"`
	Intents []recoveredEntry `json:"intents"`
}

type recoveredCounts struct {
	Started int `json:"started"`
	Failed  int `json:"failed"`
}

type recoveredEntry struct {
	writ.Recovered
	// Error says why there is no running workflow; absent where there is one.
	Error string `json:"error,omitempty"`
}

// recoverOnce reports what was started also where something was not.
func (p *program) recoverOnce(ctx context.Context, r *writ.Recovery) error {
	list := recoveredList{Intents: []recoveredEntry{}}
	var failure error
	err := r.Once(ctx, func(done writ.Recovered) {
		entry := recoveredEntry{Recovered: done}
		if done.Err == nil {
			list.Counts.Started++
		} else {
			list.Counts.Failed++
			entry.Error, failure = done.Err.Error(), done.Err
		}
		list.Intents = append(list.Intents, entry)
	})
	if err != nil && len(list.Intents) == 0 {
		return err
	}
	if err == nil {
		err = failure
	}
	printed := p.print(list, func(w io.Writer) {
		for _, e := range list.Intents {
			what := "has a running workflow again"
			if e.Enqueued {
				what = "was enqueued, and is an intent now"
			}
			if e.Error != "" {
				what = "was not started: " + e.Error
			}
			fmt.Fprintf(w, "%s  %s for %s, key %q: %s\n", e.ID, e.Tool, e.Tenant, e.RequestKey, printable(what))
		}
		fmt.Fprintf(w, "%d started, %d failed\n", list.Counts.Started, list.Counts.Failed)
	})
	if printed != nil {
		return printed
	}
	return err
}

// recovering is what writ recover says when it looks for intents.
type recovering struct {
	Ready bool `json:"ready"`
	PID   int  `json:"pid"`
}

// recoverOn goes on until ctx ends.
func (p *program) recoverOn(ctx context.Context, r *writ.Recovery) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- r.Run(ctx) }()
	select {
	case err := <-ended:
		return err
	case <-r.Ready():
	}
	fmt.Fprintln(p.stderr, "writ: recovery is ready")
	if err := p.print(recovering{Ready: true, PID: os.Getpid()}, func(io.Writer) {}); err != nil {
		cancel() // nobody would ever learn that it is ready
		<-ended
		return err
	}
	return <-ended
}
