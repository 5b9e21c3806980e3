package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"writ"
)

// restoreFlags are the flags of writ recover --after-restore.
type restoreFlags struct {
	afterRestore bool
	before       string
	nothingLost  bool
	sameTimeline bool
	by           decisionFlags
}

func (f *restoreFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.afterRestore, "after-restore", false, "take what is open for possibly sent, because PostgreSQL lost commits, let claims be granted again, and end")
	flags.StringVar(&f.before, "before", "", "with --after-restore: the `time` that the database was taken back to (RFC 3339); what was created later is left alone")
	flags.BoolVar(&f.nothingLost, "nothing-lost", false, "with --after-restore: no commit was lost, so nothing is marked")
	flags.BoolVar(&f.sameTimeline, "same-timeline", false, "with --after-restore: mark also where PostgreSQL shows no restore, as after a rolled back copy of its files")
	f.by.register(cmd, "who says so")
	f.by.registerStanding(cmd, "who says so")
}

// restore returns what the flags say.
func (f restoreFlags) restore(cmd *cobra.Command) (writ.Restore, error) {
	what := writ.Restore{NothingLost: f.nothingLost, SameTimeline: f.sameTimeline}
	if cmd.Flags().Changed("before") {
		at, err := time.Parse(time.RFC3339Nano, f.before)
		if err != nil {
			return what, usage("--before %q is no time as 2026-03-01T12:00:00Z", f.before)
		}
		what.Before = at
	}
	if !f.afterRestore {
		for _, name := range []string{"before", "nothing-lost", "same-timeline", "principal", "role", "on-behalf-of", "note"} {
			if cmd.Flags().Changed(name) {
				return what, usage("--%s is of --after-restore", name)
			}
		}
		return what, nil
	}
	for _, name := range []string{"once", "dry-run", "every", "start-within", "dispatch-every", "dispatch-at-once"} {
		if cmd.Flags().Changed(name) {
			return what, usage("--after-restore and --%s exclude each other", name)
		}
	}
	if f.nothingLost && (f.sameTimeline || f.before != "") {
		return what, usage("--nothing-lost marks nothing; leave --before and --same-timeline out")
	}
	return what, nil
}

// trustAgain says that the outbox is trusted in the history that PostgreSQL is in.
func (p *program) trustAgain(ctx context.Context, r *writ.Recovery, what writ.Restore, by writ.Decider) error {
	done, err := r.AfterRestore(ctx, what, by)
	if err != nil {
		return err
	}
	return p.print(done, func(w io.Writer) {
		if done.Trusted {
			fmt.Fprintf(w, "nothing to do: the outbox is trusted in %s, which PostgreSQL is in\n", timelineText(done.After))
			return
		}
		fmt.Fprintf(w, "marked as possibly sent: %d\n", done.Marked)
		fmt.Fprintf(w, "enqueued requests that are parked until somebody says whether they run: %d\n", done.Parked)
		fmt.Fprintf(w, "the outbox is trusted in %s; before, it was in %s; what waited goes on\n", timelineText(done.After), timelineText(done.Before))
	})
}

func timelineText(t writ.Timeline) string {
	if t.Number == 0 {
		return "no timeline" // somebody else's --after-restore was interrupted
	}
	return fmt.Sprintf("timeline %d of cluster %d", t.Number, t.System)
}
