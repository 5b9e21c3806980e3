package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

func newBudgetCommand(p *program) *cobra.Command {
	cmd := group("budget", "Limit what a tenant may have done, and spend",
		newBudgetSetCommand(p), newBudgetListCommand(p), newBudgetHistoryCommand(p), newBudgetRemoveCommand(p))
	cmd.Long = `Limits the intents of a tenant, of one of its principals or by one of its tools: how many within a
time, how much money within a time, or how many at once. An intent that a budget has no room for
is refused, with a receipt, before anything is sent, or waits until there is room.`
	cmd.Example = `  writ budget set --tenant acme --tool payments.refund --money 100.00 --currency EUR --per 24h
  writ budget list --tenant acme`
	return cmd
}

// budgetFlags say what is counted and how much of it is allowed.
type budgetFlags struct {
	writ.BudgetRequest
	intents, money, concurrency string
}

func newBudgetSetCommand(p *program) *cobra.Command {
	var f budgetFlags
	var by decisionFlags
	cmd := &cobra.Command{
		Use:   "set",
		Short: "Allow so many intents, so much money, or so many intents at once",
		Long: `Sets a budget, or changes what is allowed under the one of the same tenant, requester, tool, kind,
currency and window, which keeps its count. It counts what is admitted after it was first set.

Windows follow each other by the database's clock: hours begin on the hour, days at midnight UTC,
and 168h on Mondays. With --over wait an intent that there is no room for waits for it, first come,
first admitted; what asks for more than is allowed at all is refused all the same.

Who changed a budget, when and why is kept; see writ budget history.`,
		Example: `  writ budget set --tenant acme --tool payments.refund --money 100.00 --currency EUR --per 24h
  writ budget set --tenant acme --requester agent-7 --intents 50 --per 1h
  writ budget set --tenant acme --concurrency 10 --over wait`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := noneEmpty(cmd.LocalNonPersistentFlags(), "currency", "over"); err != nil {
				return err // it would be a budget of another kind
			}
			return p.setBudget(cmd, f, by)
		},
	}
	cmd.Flags().StringVar(&f.Tenant, "tenant", writ.DefaultTenant, "count the intents of the tenant of this `name`")
	cmd.Flags().StringVar(&f.Requester, "requester", "", "only those that the principal of this `name` asks for")
	cmd.Flags().StringVar(&f.Tool, "tool", "", "only those of the tool of this `name`")
	cmd.Flags().StringVar(&f.intents, "intents", "", "allow this `number` of intents within --per")
	cmd.Flags().StringVar(&f.money, "money", "", "allow this `amount` within --per, in the unit of the payloads")
	cmd.Flags().StringVar(&f.concurrency, "concurrency", "", "allow this `number` of intents that have not ended")
	cmd.Flags().StringVar(&f.Currency, "currency", "", "the `currency` of --money, spelled as payloads spell it")
	cmd.Flags().StringVar((*string)(&f.Over), "over", string(writ.OverDeny), "what becomes of an intent that there is no room for: `deny` or wait")
	cmd.Flags().DurationVar(&f.Window, "per", 0, "the length of the windows, 1m to 8784h")
	by.register(cmd, "who sets the budget")
	return cmd
}

// request is what the flags ask for; they have to name exactly one kind.
func (f budgetFlags) request(cmd *cobra.Command) (writ.BudgetRequest, error) {
	r, kinds := f.BudgetRequest, 0
	for _, of := range []struct {
		kind    writ.BudgetKind
		allowed string
	}{{writ.BudgetIntents, f.intents}, {writ.BudgetMoney, f.money}, {writ.BudgetConcurrency, f.concurrency}} {
		if cmd.Flags().Changed(string(of.kind)) {
			kinds++
			r.Kind, r.Allowed = of.kind, of.allowed
		}
	}
	if kinds != 1 {
		return r, intent.Errorf(intent.CodeInvalidBudget, "%d of --intents, --money and --concurrency are given; a budget is of exactly one kind", kinds)
	}
	for name, value := range map[string]string{"requester": r.Requester, "tool": r.Tool} {
		if cmd.Flags().Changed(name) && value == "" {
			return r, intent.CheckName(name, value)
		}
	}
	return r, nil
}

func (p *program) setBudget(cmd *cobra.Command, f budgetFlags, by decisionFlags) error {
	r, err := f.request(cmd)
	if err != nil {
		return err
	}
	return said(cmd, p, by, (*writ.Client).SetBudget, r, writeBudgets)
}

func newBudgetListCommand(p *program) *cobra.Command {
	var tenant string
	var all bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the budgets, what is used and what is left",
		Long:  "Lists the budgets that stand, with --all those that were removed too, 1,000 at most.",
		Example: `  writ budget list --tenant acme
  writ budget list -o json | jq '.[] | select(.left == "0")'`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return listSaid(cmd, p, (*writ.Client).Budgets, tenant, all, writeBudgets)
		},
	}
	cmd.Flags().StringVar(&tenant, "tenant", "", "only those of the tenant of this `name`")
	cmd.Flags().BoolVar(&all, "all", false, "also those that were removed")
	return cmd
}

func newBudgetHistoryCommand(p *program) *cobra.Command {
	return &cobra.Command{
		Use:     "history ID",
		Short:   "Show who allowed how much under a budget, and when",
		Long:    "Shows every change of a budget, also of one that was removed, oldest first.",
		Example: `  writ budget history 5b0c9a53-6d0c-4f0e-8a51-0c1f4a9fd0a7`,
		Args:    one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := withClient(cmd.Context(), p, func(c *writ.Client, ctx context.Context) ([]writ.BudgetChange, error) {
				return c.BudgetChanges(ctx, args[0])
			})
			if err != nil {
				return err
			}
			return p.print(list, func(w io.Writer) { writeBudgetChanges(w, list) })
		},
	}
}

func writeBudgetChanges(w io.Writer, list []writ.BudgetChange) {
	var b block
	for _, c := range list {
		said := "removed"
		if c.Allowed != "" {
			said = "allowed " + c.Allowed
			if c.Over == writ.OverWait {
				said += ", over it waits"
			}
		}
		b.add(said, decisionText(c.Principal, c.Note, c.ChangedAt))
	}
	b.write(w)
}

func newBudgetRemoveCommand(p *program) *cobra.Command {
	var by decisionFlags
	cmd := &cobra.Command{
		Use:     "remove ID",
		Short:   "Lift a budget",
		Long:    "Lifts a budget: it refuses nothing more and counts nothing more. Its history is kept.",
		Example: `  writ budget remove 5b0c9a53-6d0c-4f0e-8a51-0c1f4a9fd0a7 --note "the audit is over"`,
		Args:    one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return said(cmd, p, by, (*writ.Client).RemoveBudget, args[0], writeBudgets)
		},
	}
	by.register(cmd, "who removes the budget")
	return cmd
}

func writeBudgets(w io.Writer, list []writ.Budget) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no budgets")
		return
	}
	rows := [][]string{{"TENANT", "REQUESTER", "TOOL", "ALLOWED", "PER", "OVER", "USED", "LEFT", "WAITING", "BEGINS ANEW", "CHANGED", "BUDGET"}}
	for _, b := range list {
		per := "-"
		if b.WindowMS > 0 {
			per = (time.Duration(b.WindowMS) * time.Millisecond).String()
		}
		left := dash(b.Left)
		if b.Broken {
			left = "cannot count: changed by hand"
		}
		rows = append(rows, []string{b.Tenant, orAny(b.Requester), orAny(b.Tool), allowedText(b), per, string(b.Over), b.Used, left,
			strconv.Itoa(b.Waiting), dash(moment(b.EndsAt)), decisionText(b.Principal, b.Note, b.ChangedAt), b.ID})
	}
	writeTable(w, rows)
}

// allowedText says what is allowed, of what.
func allowedText(b writ.Budget) string {
	if b.Allowed == "" {
		return "removed"
	}
	switch b.Kind {
	case writ.BudgetMoney:
		return strings.TrimSpace(b.Allowed + " " + b.Currency)
	case writ.BudgetConcurrency:
		return b.Allowed + " open"
	case writ.BudgetIntents:
	}
	return b.Allowed + " intents"
}

// budgetWaitText says what an intent waits for, since when and behind how many.
func budgetWaitText(w writ.BudgetWait) string {
	asks := w.Asks
	if asks == "" {
		asks = "an amount that it cannot count"
	}
	text := fmt.Sprintf("%s of budget %s (%s), %s left, since %s", asks, w.Budget.ID, allowedText(w.Budget), dash(w.Budget.Left), moment(w.Since))
	if w.Ahead > 0 {
		text += ", behind " + counted(w.Ahead, "other", "others")
	}
	return text
}

// orAny stands in a table where nothing in particular is named.
func orAny(name string) string { return cmp.Or(name, "any") }
