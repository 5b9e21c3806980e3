package writ

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"writ/intent"
	"writ/outbox"
)

// ResolutionLine is one line of a file of resolutions.
type ResolutionLine struct {
	// Line counts the lines of the file from 1.
	Line     int
	IntentID intent.ID
	Resolution
	// Note says how the decider knows. Required.
	Note string
}

// resolutionMembers are the names that a line of a file of resolutions may have.
var resolutionMembers = []string{"intent_id", "resolution", "note", "result"}

// ParseResolutions reads a file of resolutions and checks all of it: on each line that is not
// blank an object with the members intent_id, resolution (applied, not_applied or retry), note
// and, with applied, result. An intent stands on one line.
//
// Members are taken as exactly as those of [ParseRequest]. The errors have its codes,
// invalid_intent_id, and those of [Resolution.Check]; they name the line, and offsets count in
// text.
func ParseResolutions(text []byte) ([]ResolutionLine, error) {
	var list []ResolutionLine
	seen := map[intent.ID]int{}
	offset := int64(0)
	number := 0
	for raw := range bytes.Lines(text) {
		number++
		at := offset
		offset += int64(len(raw))
		if len(bytes.TrimSpace(raw)) == 0 {
			continue
		}
		line, err := parseResolution(intent.Value{Raw: raw, Offset: at})
		if err == nil && seen[line.IntentID] > 0 {
			err = intent.Errorf(intent.CodeInvalidResolution, "intent %s is on line %d already; say one thing about it", line.IntentID, seen[line.IntentID])
		}
		if err != nil {
			return nil, onLine(number, err)
		}
		line.Line = number
		seen[line.IntentID] = number
		list = append(list, line)
	}
	if len(list) == 0 {
		return nil, intent.Errorf(intent.CodeInvalidResolution, "there is no resolution in the file; write one JSON object on each line")
	}
	return list, nil
}

func parseResolution(v intent.Value) (ResolutionLine, error) {
	e, err := intent.ReadEnvelope(v, "resolution", resolutionMembers)
	if err != nil {
		return ResolutionLine{}, err
	}
	var id, as string
	var line ResolutionLine
	for _, field := range []struct {
		member string
		to     *string
	}{{"intent_id", &id}, {"resolution", &as}, {"note", &line.Note}} {
		if *field.to, err = e.Text(field.member); err != nil {
			return ResolutionLine{}, err
		}
	}
	if line.IntentID, err = intent.ParseID(id); err != nil {
		return ResolutionLine{}, err
	}
	line.As = ResolutionKind(as)
	if result := e["result"]; !result.IsAbsent() {
		line.Result = bytes.TrimSpace(result.Raw)
	}
	return line, line.Check(Decider{Principal: "anybody", Note: line.Note})
}

// onLine says where in the file an error is.
func onLine(number int, err error) error {
	var e *intent.Error
	if !errors.As(err, &e) {
		return fmt.Errorf("line %d: %w", number, err)
	}
	placed := *e
	placed.Message = fmt.Sprintf("line %d: %s", number, e.Message)
	return &placed
}

// LineOutcome is what became of one line of a file of resolutions.
type LineOutcome string

const (
	// LineResolved: the decision was recorded.
	LineResolved LineOutcome = "resolved"
	// LineUnchanged: the same person had decided the same with the same note before.
	LineUnchanged LineOutcome = "unchanged"
	// LineFailed: nothing was decided.
	LineFailed LineOutcome = "failed"
	// LineNotTried: another line was refused before the first one was recorded, or an earlier
	// one failed because something does not answer.
	LineNotTried LineOutcome = "not_tried"
)

// LineResult is a line and what became of it.
type LineResult struct {
	ResolutionLine
	Outcome LineOutcome
	// State is where the intent stands; empty if the line failed or was not tried.
	State intent.State
	// Err is why the line failed; nil unless it did.
	Err error
}

// ResolveAll resolves the intents of the lines in the name of the decider, with the note of each
// line, and returns what became of each. A line that the same person decided before, on the same
// generation and with the same note, changes nothing until the intent is parked once more: so the
// same file again is harmless.
//
// Before the first line is recorded all are checked: that the intent exists, and is in doubt or
// was decided so before, that its tool would give the result, and that the policies permit it. If
// one line fails that, nothing is recorded. Then they are recorded one after the other. What only
// shows there, a retry that is refused, evidence that has just come or somebody who was faster,
// fails its own line and does not stop the others, unless something does not answer: then the rest
// is not tried.
func (c *Client) ResolveAll(ctx context.Context, lines []ResolutionLine, by Decider) []LineResult {
	results := make([]LineResult, len(lines))
	for i, line := range lines {
		results[i] = LineResult{ResolutionLine: line, Outcome: LineNotTried}
	}
	if c.eachLine(ctx, results, by, c.checkLine) {
		c.eachLine(ctx, results, by, c.resolveLine)
	}
	return results
}

// eachLine does one thing for each line, until something does not answer, and reports whether
// no line failed.
func (c *Client) eachLine(ctx context.Context, results []LineResult, by Decider,
	do func(context.Context, ResolutionLine, Decider) (LineOutcome, Intent, error),
) bool {
	good := true
	for i := range results {
		r := &results[i]
		var v Intent
		by.Note = r.Note
		r.Outcome, v, r.Err = do(ctx, r.ResolutionLine, by)
		r.State = v.State
		good = good && r.Err == nil
		var e *Error
		if errors.As(r.Err, &e) && e.TryAgain || ctx.Err() != nil {
			return false
		}
	}
	return good
}

// checkLine refuses a line that could not be recorded as things stand.
func (c *Client) checkLine(ctx context.Context, line ResolutionLine, by Decider) (LineOutcome, Intent, error) {
	if err := line.Check(by); err != nil {
		return LineFailed, Intent{}, err
	}
	row, said, err := c.saidBefore(ctx, line, by)
	switch {
	case err != nil:
		return LineFailed, Intent{}, err
	case said:
		return LineUnchanged, viewOf(row), nil
	case row.State != intent.InDoubt:
		v, err := c.view(ctx, row)
		if err != nil {
			return LineFailed, Intent{}, err
		}
		return LineFailed, Intent{}, notInDoubt(v)
	}
	if len(line.Result) > 0 {
		if err := c.promises(ctx, row, line.Result); err != nil {
			return LineFailed, Intent{}, err
		}
	}
	decider, err := c.permitted(ctx, row, by)
	if err == nil && decider.Permit != nil {
		err = decider.Permit(row, line.decision())
	}
	if err != nil {
		return LineFailed, Intent{}, err
	}
	return LineNotTried, Intent{}, nil
}

// notInDoubt is the error of a resolution that comes too late or too early, and says who
// decided before.
func notInDoubt(v Intent) error {
	told := ""
	for _, d := range v.Decisions {
		told += fmt.Sprintf("; %s by %s at %s", d.Kind, d.Principal, d.DecidedAt.UTC().Format(time.RFC3339))
	}
	return provenBy(v, intent.Errorf(intent.CodeNotInDoubt, "intent %s is %s and not in doubt%s; take its line out of the file", v.ID, v.State, told))
}

// resolveLine resolves the line's intent unless its decider has said the same before.
func (c *Client) resolveLine(ctx context.Context, line ResolutionLine, by Decider) (LineOutcome, Intent, error) {
	row, said, err := c.saidBefore(ctx, line, by)
	if err != nil {
		return LineFailed, Intent{}, err
	}
	if said && line.As != ResolveApplied {
		return LineUnchanged, viewOf(row), nil
	}
	v, err := c.Resolve(ctx, line.IntentID, line.Resolution, by) // of one that was applied, it compares the result
	switch {
	case err != nil && v.State == "":
		return LineFailed, v, err
	case said:
		return LineUnchanged, v, nil
	}
	return LineResolved, v, nil // what could not be read afterwards is decided all the same
}

// saidBefore reports whether the line's decider has said the same of the intent's generation,
// and the intent is where it is by that: a word on an earlier generation is none on this one,
// and an intent that is parked once more waits for a new one.
func (c *Client) saidBefore(ctx context.Context, line ResolutionLine, by Decider) (outbox.Row, bool, error) {
	row, err := c.decidable(ctx, line.IntentID)
	if err != nil {
		return row, false, err
	}
	earlier, err := c.decisions(ctx, row)
	if err != nil {
		return row, false, err
	}
	said := slices.ContainsFunc(earlier, func(d Decision) bool {
		return d.Kind == line.decision() && d.Principal == by.Principal && d.Note == by.Note && d.Generation == row.Generation
	})
	parked := row.State == intent.InDoubt && row.Next().Kind == intent.Stop
	return row, said && !parked, nil
}
