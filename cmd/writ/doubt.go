package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
	"writ/outbox"
)

// doubtFlags are the flags of writ doubt.
type doubtFlags struct {
	decisionFlags
	filter  writ.DoubtFilter
	lookup  bool
	timeout time.Duration
}

func newDoubtCommand(p *program) *cobra.Command {
	var f doubtFlags
	cmd := &cobra.Command{
		Use:   "doubt",
		Short: "List what somebody has to look at, oldest first",
		Long: `Lists the intents that are in doubt, and those that ended and whose end something speaks against:
how long, what is at stake, why, what the last attempt or lookup said, and what to do. With -o
json each has its attempts, lookups and decisions.

--lookup has every provider asked that can be, and waits for the answers until --timeout. What a
provider says decides: an intent completes if the effect is found, and may be sent again if it is
not. That takes a worker that hosts the tool.`,
		Example: `  writ doubt
  writ doubt --tool payments.capture -o json | jq -r '.doubts[] | .intent.id + " " + .ask'
  writ doubt --lookup --timeout 1m
  writ doubt acknowledge 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --note "paid back by hand"`,
		Args: noSuchCommand,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := f.check(cmd); err != nil {
				return err
			}
			if f.lookup {
				return p.lookUpDoubts(cmd, f)
			}
			return p.listDoubts(cmd, f.filter)
		},
		SuggestionsMinimumDistance: 2,
	}
	flags := cmd.Flags()
	flags.StringVar(&f.filter.Tenant, "tenant", "", "only intents of this `tenant`")
	flags.StringVar(&f.filter.Tool, "tool", "", "only intents that run this `tool`")
	flags.IntVar(&f.filter.Limit, "limit", outbox.DefaultLimit, fmt.Sprintf("`number` of intents on a page, at most %d", outbox.MaxLimit))
	flags.StringVar(&f.filter.After, "after", "", "the page behind this `cursor`, which the page before gave")
	flags.BoolVar(&f.lookup, "lookup", false, "have the providers asked of all pages, and show what they say")
	flags.DurationVar(&f.timeout, "timeout", 30*time.Second, "with --lookup, wait for the answers for this `duration`")
	f.register(cmd, "who has them asked")
	f.registerStanding(cmd, "who has them asked")
	cmd.AddCommand(newAcknowledgeCommand(p))
	return cmd
}

// check refuses flags that have no meaning together, or none at all.
func (f doubtFlags) check(cmd *cobra.Command) error {
	for _, flag := range []struct {
		name       string
		withLookup bool
	}{{"limit", false}, {"after", false}, {"timeout", true}, {"principal", true}, {"note", true}} {
		if cmd.Flags().Changed(flag.name) && f.lookup != flag.withLookup {
			return usage("--%s goes only %s --lookup", flag.name, map[bool]string{true: "with", false: "without"}[flag.withLookup])
		}
	}
	if err := noneEmpty(cmd.Flags(), "tenant", "tool", "after"); err != nil {
		return err
	}
	if f.filter.Limit < 1 {
		return usage("--limit must be 1 to %d", outbox.MaxLimit)
	}
	if f.timeout <= 0 {
		return usage("--timeout must be longer than 0")
	}
	return f.filter.Check()
}

func (p *program) listDoubts(cmd *cobra.Command, filter writ.DoubtFilter) error {
	page, err := p.readDoubts(cmd.Context(), filter)
	if err != nil {
		return err
	}
	if err := p.print(page, func(w io.Writer) { writeDoubts(w, page.Doubts, filter) }); err != nil {
		return err
	}
	p.tellNextPage(cmd, page.Next)
	return nil
}

func (p *program) readDoubts(ctx context.Context, filter writ.DoubtFilter) (writ.DoubtPage, error) {
	client, err := p.dial(ctx)
	if err != nil {
		return writ.DoubtPage{}, err
	}
	defer client.Close()
	page, err := client.Doubt(ctx, filter)
	if err == nil && len(page.Doubts) == 0 {
		p.warnOfNoTool(ctx, client, filter.Tool)
	}
	return page, err
}

// warnOfNoTool tells who may have mistyped a name that an empty inbox says nothing.
func (p *program) warnOfNoTool(ctx context.Context, client *writ.Client, name string) {
	if name == "" {
		return
	}
	if _, err := client.Tool(ctx, name); intent.CodeOf(err) == intent.CodeUnknownTool {
		fmt.Fprintf(p.stderr, "writ: warning: no worker has published a tool %s; `writ tools list` shows the names\n", name)
	}
}

// ofWhom says of what alone a list is.
func ofWhom(filter writ.DoubtFilter) string {
	text := ""
	if filter.Tool != "" {
		text += " of tool " + filter.Tool
	}
	if filter.Tenant != "" {
		text += " for tenant " + filter.Tenant
	}
	return text
}

func writeDoubts(w io.Writer, list []writ.Doubt, filter writ.DoubtFilter) {
	if len(list) == 0 {
		fmt.Fprintf(w, "nothing is in doubt%s\n", ofWhom(filter))
		return
	}
	rows := [][]string{{"AGE", "AT STAKE", "TOOL", "TENANT", "WHY", "LAST WORD", "INTENT", "WHAT TO DO"}}
	for _, d := range list {
		v := d.Intent
		rows = append(rows, []string{ageText(d.AgeMS), stakeText(d.Stake), v.Tool, v.Tenant, whyDoubtful(d), lastWord(d), v.ID.String(), toDo(d)})
	}
	writeTable(w, rows)
}

// ageText shows an age by its two largest units.
func ageText(ms int64) string {
	age := time.Duration(ms) * time.Millisecond
	days, hours, minutes := age/(24*time.Hour), age/time.Hour%24, age/time.Minute%60
	switch {
	case days > 0:
		return fmt.Sprintf("%dd%dh", days, hours)
	case hours > 0:
		return fmt.Sprintf("%dh%dm", hours, minutes)
	}
	return age.Truncate(time.Second).String()
}

func stakeText(s *writ.Stake) string {
	if s == nil {
		return "-"
	}
	return strings.TrimSpace(s.Amount + " " + s.Currency)
}

// whyDoubtful is the alert, or why the intent is parked, or what it does by itself.
func whyDoubtful(d writ.Doubt) string {
	switch {
	case d.Intent.Alert != "":
		return "alert: " + d.Intent.Alert
	case d.Reason != "":
		return d.Reason
	}
	return nextText(d.Intent.Next)
}

// lastWord is what the last lookup said, or the last attempt.
func lastWord(d writ.Doubt) string {
	if d.LastLookup != nil {
		return fmt.Sprintf("lookup %d: %s", d.LastLookup.Number, findingText(*d.LastLookup))
	}
	if last := len(d.Intent.Attempts) - 1; last >= 0 {
		a := d.Intent.Attempts[last]
		switch {
		case a.Outcome == "":
			return fmt.Sprintf("attempt %d: no answer", a.Number)
		case a.Code == "":
			return fmt.Sprintf("attempt %d: %s", a.Number, a.Outcome)
		}
		return fmt.Sprintf("attempt %d: %s, %s", a.Number, a.Outcome, a.Code)
	}
	return "-"
}

// resolveIt is the command, with what it cannot do without.
const resolveIt = "writ resolve ID --applied or --not-applied --note …"

// toDo is what a person does about it.
func toDo(d writ.Doubt) string {
	switch {
	case d.Intent.State.Ended():
		return d.Ask + ", put right what is wrong, then writ doubt acknowledge"
	case d.Reason == "":
		return "nothing; it goes on by itself"
	case d.CanInquire:
		return "writ doubt --lookup, or " + d.Ask + ", then " + resolveIt
	}
	return d.Ask + ", then " + resolveIt
}

// inquiredDocument is the document of writ doubt --lookup.
type inquiredDocument struct {
	Asked []writ.Inquired `json:"asked"`
}

// lookUpDoubts has the providers asked and shows what they say.
func (p *program) lookUpDoubts(cmd *cobra.Command, f doubtFlags) error {
	decider, err := f.decider(cmd)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(cmd.Context(), f.timeout)
	defer cancel()
	client, err := p.dial(ctx)
	if err != nil {
		return err
	}
	defer client.Close()
	f.filter.Limit = 0
	asked, err := client.InquireAll(ctx, f.filter, decider)
	if err != nil {
		return err
	}
	if len(asked) == 0 {
		p.warnOfNoTool(ctx, client, f.filter.Tool)
	}
	return p.print(inquiredDocument{append([]writ.Inquired{}, asked...)}, func(w io.Writer) { writeInquired(w, asked, f.filter) })
}

func writeInquired(w io.Writer, list []writ.Inquired, filter writ.DoubtFilter) {
	if len(list) == 0 {
		fmt.Fprintf(w, "nothing is in doubt%s that a provider can be asked about\n", ofWhom(filter))
		return
	}
	rows := [][]string{{"TOOL", "WHAT IT SAYS", "STATE", "NEXT", "INTENT"}}
	for _, a := range list {
		says := "no answer yet"
		if a.Lookup != nil {
			says = findingText(*a.Lookup)
		}
		next := "-"
		if !a.State.Ended() {
			next = nextText(a.Next)
		}
		rows = append(rows, []string{a.Tool, says, string(a.State), next, a.IntentID.String()})
	}
	writeTable(w, rows)
}

func newAcknowledgeCommand(p *program) *cobra.Command {
	var f decisionFlags
	cmd := &cobra.Command{
		Use:   "acknowledge ID",
		Short: "Take the alert of an intent away, once it is dealt with",
		Long: `Takes the alert of an intent away, once somebody has put right what was wrong outside of Writ.
Its end, its evidence and its receipts stay as they are, and who acknowledged the alert stands
on the intent. Evidence of another kind raises a new alert.

Exit statuses: 0 acknowledged, 1 infrastructure, 2 usage or no such intent, 3 not
permitted, 7 it has no alert.`,
		Example: `  writ doubt acknowledge 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 --note "paid back by hand, case 4711"`,
		Args:    one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.decide(cmd, args[0], f, always("acknowledged; the intent stays as it is"), (*writ.Client).Acknowledge)
		},
	}
	f.register(cmd, "who acknowledges")
	f.registerStanding(cmd, "who acknowledges")
	return cmd
}
