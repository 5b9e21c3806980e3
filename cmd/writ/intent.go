package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

func newIntentCommand(p *program) *cobra.Command {
	get := &cobra.Command{
		Use:   "get ID",
		Short: "Show an intent, its attempts and what happens next",
		Long: `Shows an intent as it stands in the outbox: its state, every attempt with what is known of
it, and the next step with its reason.`,
		Example: `  writ intent get 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204
  writ intent get 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 -o json | jq .attempts`,
		Args: one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.getIntent(cmd.Context(), args[0])
		},
	}
	cmd := group("intent", "Look at intents, and stop one", get, newListCommand(p), newWatchCommand(p), newCancelCommand(p))
	cmd.Long = "Looks at intents: what was asked for, how it stands, and what was sent."
	cmd.Example = `  writ intent list --state in_doubt
  writ intent get 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204
  writ intent watch 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204`
	return cmd
}

func (p *program) getIntent(ctx context.Context, text string) error {
	v, err := fetch(ctx, p, text, (*writ.Client).Get)
	if err != nil {
		return err
	}
	v.Payload, v.Decision = unpainted(v.Payload), unpainted(v.Decision)
	return p.print(v, func(w io.Writer) { writeIntent(w, v) })
}

// fetch reads what get returns for the intent whose id the user typed. A text that is no
// id is refused before anything is connected.
func fetch[T any](ctx context.Context, p *program, text string, get func(*writ.Client, context.Context, intent.ID) (T, error)) (T, error) {
	id, err := intent.ParseID(text)
	if err != nil {
		var none T
		return none, err
	}
	return withClient(ctx, p, func(c *writ.Client, ctx context.Context) (T, error) { return get(c, ctx, id) })
}

func writeIntent(w io.Writer, v writ.Intent) {
	var b block
	b.add("state", string(v.State))
	b.add("effect", effectIn(v))
	describe(&b, v)
	b.add("idempotency key", string(v.IdempotencyKey))
	b.add("workflow", v.WorkflowID)
	b.add("payload", string(v.Payload))
	b.add("created", moment(v.CreatedAt))
	b.add(firstSent(v.Generation), moment(v.FirstSentAt))
	b.add("ended", moment(v.EndedAt))
	if v.Submission != nil {
		describeSubmission(&b, *v.Submission)
	}
	b.add("next", nextText(v.Next))
	b.add("alert", alertText(v))
	for _, a := range v.Attempts {
		text := attemptText(a)
		if v.Generation > 1 {
			text = fmt.Sprintf("under key %s (generation %d), %s", a.IdempotencyKey, a.Generation, text)
		}
		b.add(fmt.Sprintf("attempt %d", a.Number), text)
	}
	for _, l := range v.Lookups {
		b.add(fmt.Sprintf("lookup %d", l.Number), inGeneration(l.Generation, lookupLine(l)))
	}
	b.write(w)
}

// firstSent names the time of the generation's first attempt.
func firstSent(generation int) string {
	if generation > 1 {
		return "first sent under it" // the key that the line above shows
	}
	return "first sent"
}

func nextText(s intent.Step) string {
	text := string(s.Kind)
	if s.To != "" {
		text += " as " + string(s.To)
	}
	switch {
	case s.Reason == intent.ReasonHeld:
		return text + " until the hold is lifted (held)" // s.At is only when it looks again
	case s.Reason == intent.ReasonAwaitsBudget:
		return text + " until a budget has room for it (awaits_budget)"
	case s.Reason == intent.ReasonRestored:
		return text + " until somebody has run writ recover --after-restore (outbox_restored)"
	case !s.At.IsZero():
		text += " until " + moment(s.At)
	}
	return text + " (" + s.Reason + ")"
}

// alertText says what an alert is, and who is to deal with it; or what an acknowledged one was.
func alertText(v writ.Intent) string {
	switch {
	case v.Alert != "":
		return v.Alert + ": see writ doubt"
	case v.Contradiction != "":
		return v.Contradiction + ", acknowledged"
	}
	return ""
}

func lookupLine(l writ.Lookup) string {
	text := fmt.Sprintf("asked %s by %s", moment(l.AskedAt), l.Worker)
	if l.Finding == "" {
		return text + "; no answer yet"
	}
	text += "; " + findingText(l) + " " + moment(l.AnsweredAt)
	if l.Message != "" {
		text += ": " + l.Message
	}
	return text
}

// findingText says what a lookup showed.
func findingText(l writ.Lookup) string {
	text := "no answer"
	if l.Finding != "" {
		text = string(l.Finding)
	}
	for _, detail := range []string{l.EffectID, l.Code} {
		if detail != "" {
			text += ", " + detail
		}
	}
	if l.Effects > 1 {
		text += fmt.Sprintf(", %d effects", l.Effects)
	}
	return text
}

func attemptText(a writ.Attempt) string {
	text := fmt.Sprintf("claimed %s by %s", moment(a.ClaimedAt), a.Worker)
	if a.Presumed {
		text = fmt.Sprintf("presumed %s by %s, for claims that PostgreSQL may have lost", moment(a.ClaimedAt), a.Worker)
	}
	if a.Outcome == "" {
		return text + "; no evidence yet"
	}
	text += "; " + string(a.Outcome) + " " + moment(a.EvidenceAt)
	if a.Code != "" {
		text += ", " + a.Code
	}
	if a.Message != "" {
		text += ": " + a.Message
	}
	return text
}
