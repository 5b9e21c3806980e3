package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
	"writ/outbox"
)

func newEnqueuedCommand(p *program) *cobra.Command {
	cmd := group("enqueued", "Look after requests that hosts have enqueued and that are no intents yet",
		newEnqueuedListCommand(p),
		newEnqueuedDecisionCommand(p, "retry", "Have enqueued requests tried again",
			"Makes requests due, at once or at their host's time, whether they are parked or wait for their\nnext try. What they were parked for should be mended first.",
			"retried", (*writ.Client).RetryEnqueued),
		newEnqueuedDecisionCommand(p, "drop", "Take enqueued requests back",
			"Takes requests back: they never become intents, not even one that is on its way at this moment,\nand their request keys answer dropped from then on. Dropping again changes nothing.",
			"dropped", (*writ.Client).DropEnqueued))
	cmd.Long = `Looks after requests that hosts have enqueued in transactions of their own. A worker or writ
recover makes intents of them; one that is rejected is parked and waits for a person.`
	cmd.Example = `  writ enqueued list --parked
  writ enqueued retry 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --note "the tool is deployed now"`
	return cmd
}

func newEnqueuedListCommand(p *program) *cobra.Command {
	var filter writ.ListFilter
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List enqueued requests, newest first",
		Long: `Lists the enqueued requests that are no intents yet, newest first, in pages; those that were
dropped are left out. With --parked it lists only those that wait for a person, and says why.`,
		Example: `  writ enqueued list --parked
  writ enqueued list --tenant acme -o json | jq -r '.requests[].id'`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := noneEmpty(cmd.LocalNonPersistentFlags()); err != nil {
				return err
			}
			if filter.Limit < 1 {
				return usage("--limit must be 1 to %d", outbox.MaxLimit)
			}
			return p.listEnqueued(cmd, filter)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&filter.Tenant, "tenant", "", "only requests of this `tenant`")
	flags.BoolVar(&filter.Parked, "parked", false, "only requests that wait for a person")
	flags.IntVar(&filter.Limit, "limit", outbox.DefaultLimit, fmt.Sprintf("`number` of requests on a page, at most %d", outbox.MaxLimit))
	flags.StringVar(&filter.After, "after", "", "the page behind this `cursor`, which the page before gave")
	return cmd
}

func (p *program) listEnqueued(cmd *cobra.Command, filter writ.ListFilter) error {
	page, err := withClient(cmd.Context(), p, func(c *writ.Client, ctx context.Context) (writ.EnqueuedPage, error) { return c.Enqueued(ctx, filter) })
	if err != nil {
		return err
	}
	if err := p.print(page, func(w io.Writer) { writeEnqueued(w, page.Requests) }); err != nil {
		return err
	}
	p.tellNextPage(cmd, page.Next)
	return nil
}

func writeEnqueued(w io.Writer, list []writ.EnqueuedRequest) {
	if len(list) == 0 {
		fmt.Fprintln(w, "nothing is enqueued")
		return
	}
	rows := [][]string{{"ENQUEUED", "DUE", "TOOL", "TENANT", "PRINCIPAL", "REQUEST KEY", "TRIED", "INTENT"}}
	for _, r := range list {
		due := moment(r.DueAt)
		if due == "" {
			due = "parked " + moment(r.ParkedAt)
		}
		rows = append(rows, []string{moment(r.CreatedAt), due, r.Tool, r.Tenant, r.Principal, string(r.RequestKey), triesText(r.Submission), r.ID.String()})
	}
	writeTable(w, rows)
}

// newEnqueuedDecisionCommand returns a command that decides about the requests of the given ids.
func newEnqueuedDecisionCommand(p *program, name, short, long, done string,
	decide func(*writ.Client, context.Context, intent.ID, writ.Decider) (writ.EnqueuedRequest, error),
) *cobra.Command {
	var by decisionFlags
	cmd := &cobra.Command{
		Use:   name + " ID...",
		Short: short,
		Long: long + `

The ids are taken one by one, and the first that cannot be ends the command: those before it are
decided on.

Exit statuses: 0 ` + done + `, 1 infrastructure, 2 usage or no such request, 3 it was dropped before,
7 it is an intent already.`,
		Example: "  writ enqueued " + name + ` 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --note "case 4711"`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return fmt.Errorf("%s takes at least one ID", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return p.decideEnqueued(cmd, args, by, done, decide) },
	}
	by.register(cmd, "who decides")
	by.registerStanding(cmd, "who decides")
	return cmd
}

func (p *program) decideEnqueued(cmd *cobra.Command, texts []string, by decisionFlags, done string,
	decide func(*writ.Client, context.Context, intent.ID, writ.Decider) (writ.EnqueuedRequest, error),
) error {
	decider, err := by.decider(cmd)
	if err != nil {
		return err
	}
	ids := make([]intent.ID, len(texts))
	for i, text := range texts {
		if ids[i], err = intent.ParseID(text); err != nil {
			return err
		}
	}
	client, err := p.dial(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	list := make([]writ.EnqueuedRequest, len(ids))
	for i, id := range ids {
		if list[i], err = decide(client, cmd.Context(), id, decider); err != nil {
			p.tellBefore(list[:i], done)
			return err
		}
	}
	return p.print(list, func(w io.Writer) {
		var b block
		for _, r := range list {
			b.add(done, fmt.Sprintf("%s for %s, key %q, intent %s", r.Tool, r.Tenant, r.RequestKey, r.ID))
		}
		b.write(w)
	})
}

// tellBefore says which requests were decided on before one could not be.
func (p *program) tellBefore(list []writ.EnqueuedRequest, done string) {
	if len(list) == 0 {
		return
	}
	ids := make([]string, len(list))
	for i, r := range list {
		ids[i] = r.ID.String()
	}
	fmt.Fprintf(p.stderr, "writ: %s before the one that could not be: %s\n", done, strings.Join(ids, " "))
}

// describeSubmission adds what an enqueued request waits for.
func describeSubmission(b *block, s writ.Submission) {
	b.add("not before", moment(s.NotBefore))
	b.add("tried", triesText(s))
	b.add("parked", moment(s.ParkedAt))
	if s.DecidedBy != "" {
		b.add(decidedAs(s), decisionText(standing(s.DecidedBy, s.DecidedAs), s.Note, s.DecidedAt))
	}
}

// triesText says how often a request was tried and what the last time said.
func triesText(s writ.Submission) string {
	text := fmt.Sprintf("%d times", s.Tries)
	switch s.Tries {
	case 0:
		text = "not yet"
	case 1:
		text = "once"
	}
	if s.ErrorCode != "" {
		text += "; " + string(s.ErrorCode) + ": " + s.Error
	}
	return text
}

// decidedAs says what a person decided about a request.
func decidedAs(s writ.Submission) string {
	if s.DroppedAt.IsZero() {
		return "retried"
	}
	return "dropped"
}
