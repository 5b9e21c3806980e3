package writ

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"writ/intent"
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
	// LineNotTried: an earlier line failed because something does not answer.
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

// ResolveAll resolves the intents of the lines, one after the other, in the name of principal,
// and returns what became of each. A line that the same person decided before, with the same
// note, changes nothing, a retry too: so the same file again is harmless. Lines that fail do not
// stop the others, unless something does not answer: then the rest is not tried.
func (c *Client) ResolveAll(ctx context.Context, lines []ResolutionLine, principal string) []LineResult {
	results := make([]LineResult, len(lines))
	stopped := false
	for i, line := range lines {
		results[i] = LineResult{ResolutionLine: line, Outcome: LineNotTried}
		if stopped {
			continue
		}
		var v Intent
		by := Decider{Principal: principal, Note: line.Note}
		results[i].Outcome, v, results[i].Err = c.resolveOnce(ctx, line, by)
		results[i].State = v.State
		var e *intent.Error
		stopped = errors.As(results[i].Err, &e) && e.TryAgain || ctx.Err() != nil
	}
	return results
}

// resolveOnce resolves the line's intent unless its decider has said the same before.
func (c *Client) resolveOnce(ctx context.Context, line ResolutionLine, by Decider) (LineOutcome, Intent, error) {
	row, err := c.store.Load(ctx, line.IntentID)
	if err != nil {
		return LineFailed, Intent{}, err
	}
	earlier, err := c.decisions(ctx, row)
	if err != nil {
		return LineFailed, Intent{}, err
	}
	for _, d := range earlier {
		if d.Kind == line.decision() && d.Principal == by.Principal && d.Note == by.Note {
			return LineUnchanged, viewOf(row), nil
		}
	}
	v, err := c.Resolve(ctx, line.IntentID, line.Resolution, by)
	if err != nil && v.State == "" {
		return LineFailed, v, err
	}
	return LineResolved, v, nil // what could not be read afterwards is decided all the same
}
