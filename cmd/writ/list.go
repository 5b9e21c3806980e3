package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"writ"
	"writ/intent"
	"writ/outbox"
)

// listFlags are the flags of writ intent list.
type listFlags struct {
	filter     writ.ListFilter
	key, class string
	states     []string
}

func newListCommand(p *program) *cobra.Command {
	var f listFlags
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List intents, newest first",
		Long: `Lists intents, newest first, in pages. Flags narrow the list; without any it holds every intent.

Requests that hosts have enqueued are no intents yet: only --state submitted, by itself, lists
them. Their class is not known.

With --state awaiting_confirmation alone it is the inbox of those who confirm: until when, how many
have confirmed, what is at stake, and who asked.

--since and --until take a time, 2026-03-01T12:00:00Z, or how long ago by the database's clock:
36h, 15m. An intent belongs to the span if it was created not before --since and before --until.

When there are more, standard error shows the command of the next page. Pages never repeat an
intent, and skip none that was there when the first one was read, however many are added
meanwhile. With -o json the answer is {"intents":[…],"next":…}; give next to --after, with the
same flags. There is no next on the last page.`,
		Example: `  writ intent list --state awaiting_confirmation
  writ intent list --state in_doubt
  writ intent list --tenant acme --tool payments.capture --since 24h --limit 200
  writ intent list --state recorded --state invoking --until 1h
  writ intent list --suspected-duplicates -o json | jq -r '.intents[].id'`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			return p.listIntents(cmd, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.filter.Tenant, "tenant", "", "only intents of this `tenant`")
	flags.StringVar(&f.filter.Tool, "tool", "", "only intents that run this `tool`")
	flags.StringVar(&f.filter.Principal, "principal", "", "only intents that `name` asked for")
	flags.StringArrayVar(&f.states, "state", nil, "only intents in this `state`; may be repeated: "+words(append([]intent.State{intent.Submitted}, intent.States()...)))
	flags.StringVar(&f.class, "class", "", "only intents of this effect `class`: "+words(intent.Classes()))
	flags.StringVar(&f.key, "key", "", "only the intent with this request `key`, in each tenant; fast with --tenant")
	flags.TextVar(&f.filter.Since, "since", writ.ListBound{}, "only intents created at or after this `moment`: a time, or how long ago")
	flags.TextVar(&f.filter.Until, "until", writ.ListBound{}, "only intents created before this `moment`: a time, or how long ago")
	flags.BoolVar(&f.filter.SuspectedDuplicates, "suspected-duplicates", false, "only intents that seem to repeat an earlier one")
	flags.IntVar(&f.filter.Limit, "limit", outbox.DefaultLimit, fmt.Sprintf("`number` of intents on a page, at most %d", outbox.MaxLimit))
	flags.StringVar(&f.filter.After, "after", "", "the page behind this `cursor`, which the page before gave")
	return cmd
}

// check completes the filter, and refuses one that says nothing.
func (f *listFlags) check(cmd *cobra.Command) error {
	if err := noneEmpty(cmd.LocalNonPersistentFlags()); err != nil {
		return err
	}
	if f.filter.Limit < 1 {
		return usage("--limit must be 1 to %d", outbox.MaxLimit)
	}
	f.filter.RequestKey, f.filter.Class = intent.RequestKey(f.key), intent.Class(f.class)
	for _, s := range f.states {
		f.filter.States = append(f.filter.States, intent.State(s))
	}
	return f.filter.Check()
}

func (p *program) listIntents(cmd *cobra.Command, f listFlags) error {
	page, err := withClient(cmd.Context(), p, func(c *writ.Client, ctx context.Context) (writ.IntentPage, error) { return c.List(ctx, f.filter) })
	if err != nil {
		return err
	}
	write := writeIntents
	if slices.Equal(f.filter.States, []intent.State{intent.AwaitingConfirmation}) {
		write = writeInbox
	}
	if err := p.print(page, func(w io.Writer) { write(w, page.Intents) }); err != nil {
		return err
	}
	p.tellNextPage(cmd, page.Next)
	return nil
}

// tellNextPage shows how to go on, if there are more.
func (p *program) tellNextPage(cmd *cobra.Command, cursor string) {
	if p.output == outputText && cursor != "" {
		fmt.Fprintf(p.stderr, "writ: there are more; the next page: %s\n", nextPage(cmd, cursor))
	}
}

// nextPage is the command of the page behind the cursor: this one's, without flags that say
// where the database is, since a URL may hold a password.
func nextPage(cmd *cobra.Command, cursor string) string {
	line := []string{cmd.CommandPath()}
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed || flag.Name == "after" {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, value := range values {
			line = append(line, "--"+flag.Name+"="+plainWord(value))
		}
	})
	return strings.Join(append(line, "--after="+cursor), " ")
}

var unquoted = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_.:/@+-]*$`)

// plainWord is shellWord, without quotes where the shell needs none.
func plainWord(text string) string {
	if unquoted.MatchString(text) {
		return text
	}
	return shellWord(text)
}

func writeIntents(w io.Writer, list []writ.IntentSummary) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no such intent")
		return
	}
	rows := [][]string{{"CREATED", "STATE", "TOOL", "TENANT", "PRINCIPAL", "REQUEST KEY", "ATTEMPTS", "NEXT", "REPEATS", "INTENT"}}
	for _, v := range list {
		rows = append(rows, []string{
			moment(v.CreatedAt), stateOf(v), v.Tool, v.Tenant, v.Principal, string(v.RequestKey), fmt.Sprint(v.Attempts),
			upcoming(v), repeated(v), v.ID.String(),
		})
	}
	writeTable(w, rows)
}

// stateOf is the state, and what evidence says against it.
func stateOf(v writ.IntentSummary) string {
	if v.Contradiction == "" {
		return string(v.State)
	}
	return string(v.State) + ", " + v.Contradiction
}

// upcoming is the next step, of an intent that has one.
func upcoming(v writ.IntentSummary) string {
	if v.State.Ended() {
		return "-"
	}
	if v.State == intent.AwaitingConfirmation {
		return nextText(v.Next) + ", " + quorumText(v.Confirmed, v.Approvers)
	}
	return nextText(v.Next)
}

// repeated is the intent that v seems to repeat.
func repeated(v writ.IntentSummary) string {
	if v.SuspectedDuplicateOf.IsZero() {
		return "-"
	}
	return v.SuspectedDuplicateOf.String()
}

func words[T ~string](list []T) string {
	text := make([]string, len(list))
	for i, word := range list {
		text[i] = string(word)
	}
	return strings.Join(text, ", ")
}
