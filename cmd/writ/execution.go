package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"writ"
	"writ/intent"
	"writ/receipts"
)

// executionError is why an intent did not complete, with what is known of the intent.
type executionError struct {
	cause     error
	execution writ.Execution
	// again says what the same command does while the end is open.
	again string
}

func (e *executionError) Error() string { return e.cause.Error() }
func (e *executionError) Unwrap() error { return e.cause }

// identity is all that is known of an intent whose row was not read.
type identity struct {
	ID         intent.ID         `json:"id"`
	RequestKey intent.RequestKey `json:"request_key"`
}

// known returns the intent, its identity if its row was not read, or nil if the request
// was refused before it had one.
func (e *executionError) known() any {
	v := e.execution.Intent
	switch {
	case v.State != "":
		return v
	case !v.ID.IsZero():
		return identity{v.ID, v.RequestKey}
	}
	return nil
}

// openEnds are the codes after which the effect may still happen or may have happened.
var openEnds = []intent.Code{
	intent.CodeNotYetKnown, intent.CodeDatabaseUnavailable, intent.CodeTemporalUnavailable, intent.CodeInDoubt,
	intent.CodeConfirmationRequired, intent.CodeContradicted,
}

// hints says how to go on, where the effect's end is open.
func (e *executionError) hints(code intent.Code) []string {
	v := e.execution.Intent
	if v.ID.IsZero() || !slices.Contains(openEnds, code) {
		return nil
	}
	hints := []string{fmt.Sprintf("request key %q; `writ intent get %s` tells how it stands", v.RequestKey, v.ID)}
	if code != intent.CodeInDoubt && code != intent.CodeContradicted {
		hints = append(hints, e.again)
	}
	return hints
}

// shellWord quotes text so that a POSIX shell reads it as one word. A request key may hold
// spaces and quotes.
func shellWord(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

func writeAccepted(w io.Writer, v writ.Intent) {
	var b block
	accepted := "the intent is committed and goes on without this command"
	if v.State == intent.AwaitingConfirmation {
		accepted = "the intent is committed and waits for somebody to run writ confirm " + v.ID.String()
	}
	b.add("accepted", accepted)
	b.add("state", string(v.State))
	b.add("effect", effectIn(v))
	describe(&b, v)
	b.add("receipt", "once it ended: writ receipt get "+v.ID.String())
	b.write(w)
}

func writeExecution(w io.Writer, e writ.Execution) {
	var b block
	b.add("state", string(e.Intent.State))
	b.add("effect", effectIn(e.Intent))
	describe(&b, e.Intent)
	b.add("receipt", receiptLine(e))
	b.add("answer", answerText(e.Answer))
	if e.Answer != nil {
		b.add("problem", e.Answer.Problem)
	}
	b.write(w)
}

// warnOfContradiction tells the caller of a completed intent what its error cannot say: the
// effect happened, and evidence speaks against the rest.
func (p *program) warnOfContradiction(v writ.Intent) {
	if v.State == intent.Completed && v.Contradiction != "" {
		fmt.Fprintf(p.stderr, "writ: warning: %s: the effect %s; `writ intent get %s` shows the evidence\n", v.Contradiction, effectIn(v), v.ID)
	}
}

// describe adds what identifies the intent.
func describe(b *block, v writ.Intent) {
	b.add("tool", toolText(v))
	b.add("tenant", v.Tenant)
	b.add("principal", v.Principal)
	b.add("roles", strings.Join(v.Roles, ", "))
	b.add("on behalf of", strings.Join(v.OnBehalfOf, ", for "))
	b.add("request key", string(v.RequestKey))
	b.add("intent", v.ID.String())
	if !v.SuspectedDuplicateOf.IsZero() {
		b.add("may repeat", "intent "+v.SuspectedDuplicateOf.String())
	}
	if v.State == intent.AwaitingConfirmation {
		describeWait(b, v)
	}
	if v.State == intent.Refused {
		b.add("why refused", whyRefused(v.Decision))
	}
	for _, h := range v.Holds {
		b.add("held by", holdText(h))
	}
	if w := v.BudgetWait; w != nil {
		b.add("waits for", budgetWaitText(*w))
	}
	for _, d := range v.Decisions {
		b.add(string(d.Kind), decidedText(d))
	}
}

// quorumText says how many of how many people have confirmed.
func quorumText(confirmed, approvers int) string {
	if approvers == 1 {
		return fmt.Sprintf("%d of 1 person", confirmed)
	}
	return fmt.Sprintf("%d of %d people", confirmed, approvers)
}

// standing names who decided, for whom, and as what.
func standing(principal string, s writ.Standing) string {
	text := principal
	if len(s.OnBehalfOf) > 0 {
		text += " for " + strings.Join(s.OnBehalfOf, ", for ")
	}
	if len(s.Roles) > 0 {
		text += " as " + strings.Join(s.Roles, ", ")
	}
	return text
}

// toolText names the tool, with its class if that is known.
func toolText(v writ.Intent) string {
	if v.Class == "" {
		return v.Tool
	}
	return fmt.Sprintf("%s (%s)", v.Tool, v.Class)
}

// decidedText says who took the decision, as what and why.
func decidedText(d writ.Decision) string {
	return decisionText(standing(d.Principal, d.Standing), d.Note, d.DecidedAt)
}

// decisionText says who decided and why.
func decisionText(principal, note string, at time.Time) string {
	text := fmt.Sprintf("by %s at %s", principal, moment(at))
	if note != "" {
		text += ": " + note
	}
	return text
}

// warnOfRepeat tells the caller of an intent that was not stopped and yet may be there twice.
func (p *program) warnOfRepeat(v writ.Intent) {
	if v.SuspectedDuplicateOf.IsZero() || v.State == intent.Refused || v.State == intent.AwaitingConfirmation {
		return // the error says it
	}
	fmt.Fprintf(p.stderr, "writ: warning: this may repeat intent %s, which %s asked for a short time ago with the same payload; if it is meant twice, give each its own --key\n",
		v.SuspectedDuplicateOf, printable(v.Principal))
}

// receiptLine sums the receipt up. A receipt of a form that this release cannot read is
// named, not hidden.
func receiptLine(e writ.Execution) string {
	if len(e.Receipt) == 0 {
		return "none: the intent has not ended"
	}
	r, err := receipts.Parse(e.Receipt)
	if err != nil {
		return "of a form that is not known here; writ receipt get " + e.Intent.ID.String()
	}
	return fmt.Sprintf("%s after %s at %s", r.State, counted(len(r.Attempts), "attempt", "attempts"), moment(r.EndedAt))
}

// moment prints a time to the millisecond, in UTC as it stands in receipts.
func moment(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format("2006-01-02T15:04:05.000Z")
}

// answerText shows an answer that can be read, and says what the others are.
func answerText(a *writ.Answer) string {
	switch {
	case a == nil:
		return ""
	case a.JSON != nil:
		return string(a.JSON)
	case len(a.Body) == 0:
		return strings.TrimSuffix("empty, "+a.MediaType, ", ")
	case len(a.Body) <= longestTextAnswer && utf8.Valid(a.Body):
		return string(a.Body)
	}
	return fmt.Sprintf("%d bytes of %s; -o json has them in base64", len(a.Body), a.MediaType)
}

// longestTextAnswer is the longest answer, in bytes, that text output repeats when it is not JSON.
const longestTextAnswer = 4 << 10
