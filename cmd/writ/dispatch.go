package main

import (
	"time"

	"github.com/spf13/cobra"

	"writ/recovery"
)

// dispatchFlags are the flags of the commands that make intents of enqueued requests.
type dispatchFlags struct {
	every  time.Duration
	atOnce int
}

func (f *dispatchFlags) register(cmd *cobra.Command) {
	never := ""
	if cmd.Name() == "worker" {
		never = "; 0 never does, so that another worker must"
	}
	cmd.Flags().DurationVar(&f.every, "dispatch-every", recovery.DefaultDispatchInterval, "how often to look for requests that were enqueued"+never)
	cmd.Flags().IntVar(&f.atOnce, "dispatch-at-once", recovery.DefaultDispatchAtOnce,
		"`number` of enqueued requests that are worked on at the same time; what waits for a person, a hold or a late retry does not count")
}

func (f *dispatchFlags) check() error {
	if f.every < 0 || f.atOnce <= 0 {
		return usage("--dispatch-every must not be negative, and --dispatch-at-once must be more than 0")
	}
	return nil
}
