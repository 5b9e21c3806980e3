package main

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

func newWatchCommand(p *program) *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "watch ID",
		Short: "Follow an intent to its end",
		Long: `Follows an intent until it ended, is parked in doubt, or waits for a person. Each change is a
line on standard error; the answer and the exit status are those of writ execute. It only looks:
an intent goes on, or stays where it is, whether it is watched or not.

It reads PostgreSQL and does not need Temporal. Once it has seen the intent, it waits through an
outage of PostgreSQL.

Exit statuses: 0 completed, 1 infrastructure or not known yet, 2 usage or bad input, 3 refused,
4 failed and nothing happened, 5 in doubt or contradicted by later evidence, 6 waiting for a
confirmation, 8 cancelled.`,
		Example: `  writ intent watch 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204
  writ intent watch 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --timeout 5m -o json`,
		Args: one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := checkTimeout(cmd, timeout); err != nil {
				return err
			}
			return p.watchIntent(cmd.Context(), args[0], timeout)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 0, "stop watching after this `duration`, such as 30s (default: watch to the end)")
	return cmd
}

func (p *program) watchIntent(ctx context.Context, text string, timeout time.Duration) error {
	if timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, timeout)
		defer cancel()
	}
	done, err := fetch(ctx, p, text, func(client *writ.Client, ctx context.Context, id intent.ID) (writ.Execution, error) {
		return client.Watch(ctx, id, p.showChange)
	})
	if err != nil && done.Intent.State == "" {
		return err // nothing was seen of it
	}
	return p.printExecution(done, err, "the same command watches it again")
}

func (p *program) showChange(v writ.Intent) error {
	fmt.Fprintln(p.stderr, printable(changeText(v)))
	return nil // a reader of standard error that went away does not end the watch
}

// changeText is one line on how an intent stands, with the time of what happened last.
func changeText(v writ.Intent) string {
	at, attempt := v.CreatedAt, "no attempt"
	if last := len(v.Attempts) - 1; last >= 0 {
		a := v.Attempts[last]
		at, attempt = later(a.ClaimedAt, a.EvidenceAt), fmt.Sprintf("attempt %d", a.Number)
		switch {
		case a.Outcome == "":
			attempt += " open"
		case a.Code == "":
			attempt += " " + string(a.Outcome)
		default:
			attempt += " " + string(a.Outcome) + ", " + a.Code
		}
	}
	return fmt.Sprintf("%s  %s  %s  %s", moment(later(at, v.EndedAt)), v.State, attempt, nextText(v.Next))
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
