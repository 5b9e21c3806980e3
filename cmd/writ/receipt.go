package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
	"writ/receipts"
)

func newReceiptCommand(p *program) *cobra.Command {
	get := &cobra.Command{
		Use:   "get ID",
		Short: "Show the receipt of an intent that ended",
		Long: `Shows the receipt that was journaled when the intent ended, and what was added to it since, if
evidence came that speaks against the end. With -o json it is exactly the stored bytes, canonical
JSON, and a line break; if there are amendments, they stand in front of the receipt's own members
as amendments, an array of receipts, oldest first.

Of an intent that was issued again and has not ended since, it shows the receipt of the earlier
end, says so on standard error, and with -o json in a member gone_on: the generation, state and
effect of now.`,
		Example: `  writ receipt get 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204
  writ receipt get 0f8d6a1c-2b1e-8c55-9d0a-3f6a7be1c204 -o json > receipt.json`,
		Args: one("ID"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.getReceipt(cmd.Context(), args[0])
		},
	}
	cmd := group("receipt", "Look at receipts", get)
	cmd.Long = "Looks at receipts: the journaled ends of intents."
	cmd.Example = get.Example
	return cmd
}

// journaled is what the journal holds of an intent's end, beside the intent as it stands now.
type journaled struct {
	receipt    json.RawMessage
	amendments []json.RawMessage
	now        writ.Intent
}

// journal reads the intent last, so that a receipt that is superseded meanwhile is seen to be.
func journal(c *writ.Client, ctx context.Context, id intent.ID) (j journaled, err error) {
	if j.receipt, err = c.Receipt(ctx, id); err != nil {
		return j, err
	}
	if j.amendments, err = c.Amendments(ctx, id); err != nil {
		return j, err
	}
	j.now, err = c.Get(ctx, id)
	return j, err
}

func (p *program) getReceipt(ctx context.Context, text string) error {
	j, err := fetch(ctx, p, text, journal)
	if err != nil {
		return err
	}
	r, unreadable := receipts.Parse(j.receipt)
	gone := goneOnFrom(r, j.now)
	if gone != nil {
		fmt.Fprintf(p.stderr, "writ: warning: this receipt is the end of generation %d; the intent was issued again and is %s in generation %d: `writ intent get %s` tells how it stands\n",
			r.Generation, gone.State, gone.Generation, j.now.ID)
	}
	if p.output == outputJSON {
		document, err := receiptDocument(j, gone)
		if err != nil {
			return err
		}
		return p.print(document, nil)
	}
	later := make([]receipts.Receipt, len(j.amendments))
	for i, body := range j.amendments {
		if unreadable == nil {
			later[i], unreadable = receipts.Parse(body)
		}
	}
	if unreadable != nil {
		return fmt.Errorf("the receipt cannot be shown as text, -o json gives its bytes: %w", unreadable)
	}
	return p.print(nil, func(w io.Writer) { writeReceipt(w, r, later, gone) })
}

// goneOn is how an intent stands that was issued again after the receipt.
type goneOn struct {
	Generation int            `json:"generation"`
	State      intent.State   `json:"state"`
	Effect     intent.Outcome `json:"effect"`
}

// goneOnFrom returns nil if the receipt is of the intent's generation, or of a form that does
// not tell.
func goneOnFrom(r receipts.Receipt, now writ.Intent) *goneOn {
	if r.Generation == 0 || r.Generation == now.Generation {
		return nil
	}
	return &goneOn{now.Generation, now.State, now.Effect}
}

// receiptDocument puts what came after the receipt in front of its members, whose bytes stay as
// they are stored.
func receiptDocument(j journaled, gone *goneOn) (json.RawMessage, error) {
	if len(j.amendments) == 0 && gone == nil {
		return j.receipt, nil
	}
	var front bytes.Buffer
	err := writeJSON(&front, struct {
		Amendments []json.RawMessage `json:"amendments,omitempty"`
		GoneOn     *goneOn           `json:"gone_on,omitempty"`
	}{j.amendments, gone})
	if err != nil {
		return nil, fmt.Errorf("amendments of intent %s: %w", j.now.ID, err)
	}
	members := bytes.TrimSuffix(front.Bytes(), []byte("}\n"))
	return append(append(members, ','), j.receipt[1:]...), nil
}

func writeReceipt(w io.Writer, r receipts.Receipt, amendments []receipts.Receipt, gone *goneOn) {
	var b block
	b.add("state", string(r.State))
	b.add("outcome", string(r.Outcome))
	b.add("reason", r.Reason)
	for _, a := range amendments {
		b.add(amendmentName(a), fmt.Sprintf("%s: %s, the outcome is %s by now", moment(a.AmendedAt), a.Reason, a.Outcome))
	}
	b.add("tool", r.Tool)
	b.add("tenant", r.Tenant)
	b.add("principal", r.Principal)
	b.add("request key", string(r.RequestKey))
	b.add("intent", r.IntentID.String())
	generation := fmt.Sprint(r.Generation)
	if gone != nil {
		generation += fmt.Sprintf("; the intent was issued again and is %s in generation %d", gone.State, gone.Generation)
	}
	b.add("generation", generation)
	if !r.SuspectedDuplicateOf.IsZero() {
		b.add("may repeat", "intent "+r.SuspectedDuplicateOf.String())
	}
	b.add("decision", string(r.Decision))
	for _, d := range r.Decisions {
		b.add(string(d.Kind), decisionText(standing(d.Principal, writ.Standing{Roles: d.Roles, OnBehalfOf: d.OnBehalfOf}), d.Note, d.DecidedAt))
	}
	b.add("commitment", r.Commitment.String())
	b.add("spec digest", r.SpecDigest.String())
	b.add("key digest", r.KeyDigest.String())
	if r.ResultDigest != nil {
		b.add("result digest", r.ResultDigest.String())
	}
	b.add("media type", r.MediaType)
	b.add("created", moment(r.CreatedAt))
	b.add("ended", moment(r.EndedAt))
	evidence := newEvidenceRows(&b)
	evidence.add("", r)
	for _, a := range amendments {
		evidence.add(amendmentName(a)+", ", a)
	}
	b.write(w)
}

// amendmentName counts the amendments of a generation.
func amendmentName(a receipts.Receipt) string {
	return fmt.Sprintf("amendment %d.%d", a.Generation, a.Number)
}

// evidenceRows adds each attempt and lookup to a block, and again where a later receipt says
// something else of it.
type evidenceRows struct {
	block *block
	said  map[string]string
}

func newEvidenceRows(b *block) evidenceRows { return evidenceRows{b, map[string]string{}} }

func (e evidenceRows) add(prefix string, r receipts.Receipt) {
	for _, a := range r.Attempts {
		e.row(prefix, fmt.Sprintf("attempt %d", a.Number), receiptAttemptText(a))
	}
	for _, l := range r.Lookups {
		e.row(prefix, fmt.Sprintf("lookup %d", l.Number), receiptLookupText(l))
	}
}

func (e evidenceRows) row(prefix, name, text string) {
	if e.said[name] != text {
		e.said[name] = text
		e.block.add(prefix+name, text)
	}
}

func receiptAttemptText(a receipts.Attempt) string {
	text := inGeneration(a.Generation, fmt.Sprintf("claimed %s; %s", moment(a.ClaimedAt), a.Outcome))
	if !a.EvidenceAt.IsZero() {
		text += " " + moment(a.EvidenceAt)
	}
	for _, detail := range []string{a.EffectID, a.Code} {
		if detail != "" {
			text += ", " + detail
		}
	}
	return text
}

func receiptLookupText(l receipts.Lookup) string {
	found := writ.Lookup{Finding: l.Finding, Code: l.Code, EffectID: l.EffectID, Effects: l.Effects}
	return inGeneration(l.Generation, fmt.Sprintf("asked %s; %s", moment(l.AskedAt), findingText(found)))
}

// inGeneration says for which generation something was done, if that is not the first.
func inGeneration(generation int, text string) string {
	if generation <= 1 {
		return text
	}
	return fmt.Sprintf("generation %d, %s", generation, text)
}
