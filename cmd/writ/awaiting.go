package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"writ"
	"writ/intent"
	"writ/policy"
)

// describeWait adds what somebody has to see who decides about an intent that waits for people.
func describeWait(b *block, v writ.Intent) {
	if v.Stake != nil {
		b.add("at stake", stakeText(v.Stake))
	}
	var d policy.Decision
	if json.Unmarshal(v.Decision, &d) == nil { // a row that was changed by hand is shown without
		b.add("why it waits", whyItWaits(d))
		b.add("risk", fmt.Sprint(d.Risk))
	}
	b.add("masked", maskedText(v))
	b.add("confirm by", moment(v.ConfirmBy)+", "+leftText(v.RemainingMS))
	b.add("confirmed", quorumText(v.Confirmed, v.Approvers))
	b.add("commitment", string(intent.Short(v.Commitment)))
	b.add("to decide", fmt.Sprintf("writ confirm %s --commitment %s, or writ deny %[1]s", v.ID, intent.Short(v.Commitment)))
}

// whyRefused is the code of the rule that said no, and what whyItWaits says of it; "" for a row that
// was changed by hand.
func whyRefused(decision json.RawMessage) string {
	var d policy.Decision
	if json.Unmarshal(decision, &d) != nil || d.Code == "" {
		return ""
	}
	return string(d.Code) + ": " + whyItWaits(d)
}

// whyItWaits is what the policy said, and which.
func whyItWaits(d policy.Decision) string {
	by := d.Policy
	if len(d.Policies) > 0 {
		by += ": " + strings.Join(d.Policies, ", ")
	}
	if d.Reason == "" {
		return by
	}
	return d.Reason + " (" + by + ")"
}

// maskedText says which values of the payload are not shown.
func maskedText(v writ.Intent) string {
	if len(v.Masked) == 0 {
		return ""
	}
	if slices.Contains(v.Masked, "") {
		return "the whole payload"
	}
	return strings.Join(v.Masked, ", ")
}

// leftText is for how long people may still confirm.
func leftText(ms int64) string {
	if ms == 0 {
		return "which is over"
	}
	return "in " + ageText(ms)
}

// writeInbox lists intents that wait for people.
func writeInbox(w io.Writer, list []writ.IntentSummary) {
	if len(list) == 0 {
		fmt.Fprintln(w, "nothing waits for anybody to confirm it")
		return
	}
	rows := [][]string{{"CONFIRM BY", "LEFT", "CONFIRMED", "AT STAKE", "TOOL", "TENANT", "ASKED BY", "REQUEST KEY", "REPEATS", "INTENT"}}
	for _, v := range list {
		left := "over"
		if v.RemainingMS > 0 {
			left = ageText(v.RemainingMS)
		}
		rows = append(rows, []string{
			moment(v.ConfirmBy), left, quorumText(v.Confirmed, v.Approvers), stakeText(v.Stake), v.Tool, v.Tenant,
			strings.Join(append([]string{v.Principal}, v.OnBehalfOf...), ", for "), string(v.RequestKey), repeated(v), v.ID.String(),
		})
	}
	writeTable(w, rows)
}

// unpainted returns JSON of the same value in which every character that does not print is an
// escape: what callers and policies write must not repaint what somebody reads who decides about
// it. The JSON is on one line.
func unpainted(raw json.RawMessage) json.RawMessage {
	var out []byte
	for _, r := range string(raw) {
		if unicode.IsPrint(r) {
			out = utf8.AppendRune(out, r)
			continue
		}
		units := []rune{r}
		if high, low := utf16.EncodeRune(r); high != unicode.ReplacementChar {
			units = []rune{high, low}
		}
		for _, unit := range units {
			out = fmt.Appendf(out, `\u%04x`, unit)
		}
	}
	return out
}
