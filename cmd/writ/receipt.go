package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ"
	"writ/receipts"
)

func newReceiptCommand(p *program) *cobra.Command {
	get := &cobra.Command{
		Use:   "get ID",
		Short: "Show the receipt of an intent that ended",
		Long: `Shows the receipt that was journaled when the intent ended. With -o json it is exactly the
stored bytes, canonical JSON, and a line break.`,
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

func (p *program) getReceipt(ctx context.Context, text string) error {
	stored, err := fetch(ctx, p, text, (*writ.Client).Receipt)
	if err != nil {
		return err
	}
	if p.output == outputJSON {
		return p.print(stored, nil)
	}
	r, err := receipts.Parse(stored)
	if err != nil {
		return fmt.Errorf("the receipt cannot be shown as text, -o json gives its bytes: %w", err)
	}
	return p.print(nil, func(w io.Writer) { writeReceipt(w, r) })
}

func writeReceipt(w io.Writer, r receipts.Receipt) {
	var b block
	b.add("state", string(r.State))
	b.add("outcome", string(r.Outcome))
	b.add("reason", r.Reason)
	b.add("tool", r.Tool)
	b.add("tenant", r.Tenant)
	b.add("principal", r.Principal)
	b.add("request key", string(r.RequestKey))
	b.add("intent", r.IntentID.String())
	b.add("generation", fmt.Sprint(r.Generation))
	if !r.SuspectedDuplicateOf.IsZero() {
		b.add("may repeat", "intent "+r.SuspectedDuplicateOf.String())
	}
	b.add("decision", string(r.Decision))
	for _, d := range r.Decisions {
		b.add(string(d.Kind), decisionText(d.Principal, d.Note, d.DecidedAt))
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
	for _, a := range r.Attempts {
		b.add(fmt.Sprintf("attempt %d", a.Number), receiptAttemptText(a))
	}
	b.write(w)
}

func receiptAttemptText(a receipts.Attempt) string {
	text := fmt.Sprintf("claimed %s; %s", moment(a.ClaimedAt), a.Outcome)
	if !a.EvidenceAt.IsZero() {
		text += " " + moment(a.EvidenceAt)
	}
	if a.Code != "" {
		text += ", " + a.Code
	}
	return text
}
