package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
	"writ/tools"
)

func newToolsCommand(p *program) *cobra.Command {
	list := &cobra.Command{
		Use:   "list",
		Short: "List the tools that workers have published",
		Long:  "Lists the tools that workers have published, ordered by name.",
		Example: `  writ tools list
  writ tools list -o json | jq -r '.[].name'`,
		Args: none,
		RunE: func(cmd *cobra.Command, _ []string) error { return p.listTools(cmd.Context()) },
	}
	show := &cobra.Command{
		Use:   "show NAME",
		Short: "Show how a tool behaves and what its provider promises",
		Long: `Shows the published spec of a tool: what is done when an outcome is unknown, how often it is
tried, how long the provider remembers an idempotency key, and the JSON Schemas of payload and
answer.`,
		Example: `  writ tools show payments.capture
  writ tools show payments.capture -o json | jq .behaviour.input_schema`,
		Args: one("NAME"),
		RunE: func(cmd *cobra.Command, args []string) error { return p.showTool(cmd.Context(), args[0]) },
	}
	cmd := group("tools", "Look at the tools that can be run", list, show)
	cmd.Long = "Looks at the tools that workers have published. A worker publishes its tools when it starts."
	cmd.Example = `  writ tools list
  writ tools show payments.capture`
	return cmd
}

func (p *program) listTools(ctx context.Context) error {
	list, err := withClient(ctx, p, (*writ.Client).Tools)
	if err != nil {
		return err
	}
	return p.print(list, func(w io.Writer) { writeTools(w, list) })
}

func writeTools(w io.Writer, list []writ.Tool) {
	if len(list) == 0 {
		fmt.Fprintln(w, "no worker has published a tool; start one with `writ worker`")
		return
	}
	rows := [][]string{{"NAME", "CLASS", "PROVIDER", "TASK QUEUE", "DESCRIPTION"}}
	for _, t := range list {
		rows = append(rows, []string{t.Name, string(t.Class), dash(t.Behaviour.Provider), t.TaskQueue, t.Description})
	}
	writeTable(w, rows)
}

func (p *program) showTool(ctx context.Context, name string) error {
	t, err := withClient(ctx, p, func(c *writ.Client, ctx context.Context) (writ.Tool, error) { return c.Tool(ctx, name) })
	if err != nil {
		return err
	}
	return p.print(t, func(w io.Writer) { writeTool(w, t) })
}

func writeTool(w io.Writer, t writ.Tool) {
	var b block
	b.add("name", t.Name)
	b.add("description", t.Description)
	b.add("category", t.Category)
	b.add("provider", t.Behaviour.Provider)
	b.add("class", classText(t.Class))
	b.add("key window", windowText(t.Behaviour.KeyWindow))
	b.add("key contract", contractText(t))
	b.add("lookups", lookupText(t.Behaviour))
	b.add("at stake", strings.TrimSpace(t.StakeAmount+" "+t.StakeCurrency))
	b.add("one attempt", "at most "+milliseconds(t.Behaviour.TimeoutMS))
	b.add("attempts", attemptsText(t.Behaviour))
	b.add("definite failure", retryText(t.Behaviour))
	b.add("repeats", guardText(t.Behaviour))
	b.add("risk", riskText(t.Behaviour))
	b.add("needs consent", strings.Join(t.Behaviour.Consents, ", "))
	b.add("sends", strings.Join(t.Behaviour.DataClasses, ", "))
	b.add("input", schemaText(t.Behaviour.InputSchema))
	b.add("output", schemaText(t.Behaviour.OutputSchema))
	b.add("spec digest", t.SpecDigest.String())
	b.add("task queue", t.TaskQueue)
	b.add("published", moment(t.PublishedAt))
	b.write(w)
}

// classText says what is done when an outcome is unknown.
func classText(c intent.Class) string {
	switch c {
	case intent.Read:
		return "read: changes nothing outside; run again when its answer was lost"
	case intent.Keyed:
		return "keyed: sent again with the same idempotency key when an outcome is unknown, while the provider surely remembers it"
	case intent.Transactional:
		return "transactional: its effect is committed together with its receipt, or not at all; run again when its answer was lost"
	case intent.Reconcilable:
		return "reconcilable: looked up when an outcome is unknown, and sent again once a lookup after the settle delay found nothing"
	case intent.Opaque:
		return "opaque: never sent again when an outcome is unknown; the intent is in doubt until somebody looks"
	}
	return string(c)
}

// windowText says what tools.Behaviour.KeyWindow means.
func windowText(window string) string {
	assumed, isAssumed := strings.CutPrefix(window, "assumed ")
	switch {
	case window == "":
		return ""
	case isAssumed:
		return fmt.Sprintf("assumed %s: the spec does not say how long the provider remembers a key", assumed)
	case window == tools.WindowUnknown.String():
		return "unknown: an open outcome is never sent again"
	case window == tools.WindowForever.String():
		return "forever: the provider never forgets a key"
	}
	return window + ": the provider remembers a key for that long after its first request"
}

// contractText says what else the provider promises about keys; nothing if that is nothing.
func contractText(t writ.Tool) string {
	var said []string
	if t.Behaviour.KeyReplaysErrors {
		said = append(said, "errors are stored too, so that a retry after one needs a new key")
	}
	if t.Behaviour.KeySerial {
		said = append(said, "two requests at once are not safe")
	}
	if t.KeyMismatch != tools.MismatchUnknown {
		said = append(said, "a known key with other parameters is "+string(t.KeyMismatch))
	}
	if t.KeyMaxLength > 0 {
		said = append(said, fmt.Sprintf("keys have at most %d bytes", t.KeyMaxLength))
	}
	return strings.Join(said, "; ")
}

// lookupText says how the provider is asked; nothing if it cannot be.
func lookupText(b tools.Behaviour) string {
	if !b.Reconcilable {
		return ""
	}
	return fmt.Sprintf("at most %d after an attempt; one that finds nothing is trusted %s after the end of the attempt's lease", b.MaxLookups, milliseconds(b.SettleDelayMS))
}

func attemptsText(b tools.Behaviour) string {
	return fmt.Sprintf("at most %d, %s apart at first and %s at most, or as long as the provider asks",
		b.MaxAttempts, milliseconds(b.InitialBackoffMS), milliseconds(b.MaxBackoffMS))
}

// riskText says what the tool risks and may risk; nothing if it says nothing.
func riskText(b tools.Behaviour) string {
	switch {
	case b.Risk == 0 && b.MaxRisk == 0:
		return ""
	case b.MaxRisk == 0:
		return fmt.Sprintf("%v at least", b.Risk)
	}
	return fmt.Sprintf("%v at least; above %v a request is refused", b.Risk, b.MaxRisk)
}

// schemaText shows a schema on one line, as it was digested.
func schemaText(schema json.RawMessage) string {
	if len(schema) == 0 {
		return "anything"
	}
	canonical, err := intent.Canonicalize(schema)
	if err != nil {
		return string(schema)
	}
	return string(canonical)
}

func retryText(b tools.Behaviour) string {
	if b.Retryable {
		return "tried again within these attempts"
	}
	return "ends the intent"
}

// guardText says what becomes of a request without a key that repeats an earlier one; nothing
// for a tool without side effects.
func guardText(b tools.Behaviour) string {
	guard := tools.PublishedGuard{Window: tools.DefaultGuardWindow.String()}
	if b.Duplicates != nil {
		guard = *b.Duplicates
	}
	var done string
	switch guard.Action {
	case intent.FlagDuplicates:
		done = "flagged"
	case intent.RefuseDuplicates:
		done = "refused"
	case intent.ConfirmDuplicates:
		done = "held until somebody confirms them"
	default:
		done = string(guard.Action)
	}
	switch {
	case !b.SideEffectful:
		return ""
	case guard.Window == "none":
		return "run like any other: the tool looks for none"
	}
	return fmt.Sprintf("requests without a key that repeat one of the last %s are %s", guard.Window, done)
}

func milliseconds(ms int64) string { return (time.Duration(ms) * time.Millisecond).String() }
