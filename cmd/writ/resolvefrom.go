package main

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"writ"
	"writ/intent"
)

// maxResolutions bounds a file of resolutions in bytes.
const maxResolutions = 16 << 20

// lineDocument is a line of a file of resolutions and what became of it.
type lineDocument struct {
	Line     int              `json:"line"`
	IntentID intent.ID        `json:"intent_id"`
	Outcome  writ.LineOutcome `json:"outcome"`
	State    intent.State     `json:"state,omitempty"`
	Error    *errorBody       `json:"error,omitempty"`
}

// resolvedDocument is the document of writ resolve --from.
type resolvedDocument struct {
	Counts map[writ.LineOutcome]int `json:"counts"`
	Lines  []lineDocument           `json:"lines"`
}

// resolveFrom resolves what the lines of a file say. Its error is the one of the first line
// that failed.
func (p *program) resolveFrom(cmd *cobra.Command, f resolveFlags) error {
	decider, err := f.decider(cmd)
	if err != nil {
		return err
	}
	text, err := input{what: "file of resolutions", flag: "--from", limit: maxResolutions, shrink: "split the file", bare: true}.read(cmd.Context(), f.from, p.stdin)
	if err != nil {
		return err
	}
	lines, err := writ.ParseResolutions(text)
	if err != nil {
		return err
	}
	client, err := p.dial(cmd.Context())
	if err != nil {
		return err
	}
	defer client.Close()
	results := client.ResolveAll(cmd.Context(), lines, decider)
	document := resolvedOf(results)
	if err := p.print(document, func(w io.Writer) { writeResolved(w, document) }); err != nil {
		return err
	}
	return failedLines(results)
}

func resolvedOf(results []writ.LineResult) resolvedDocument {
	d := resolvedDocument{Counts: map[writ.LineOutcome]int{}, Lines: []lineDocument{}}
	for _, outcome := range []writ.LineOutcome{writ.LineResolved, writ.LineUnchanged, writ.LineFailed, writ.LineNotTried} {
		d.Counts[outcome] = 0
	}
	for _, r := range results {
		d.Counts[r.Outcome]++
		line := lineDocument{Line: r.Line, IntentID: r.IntentID, Outcome: r.Outcome, State: r.State}
		if r.Err != nil {
			body := bodyOf(described(r.Err))
			line.Error = &body
		}
		d.Lines = append(d.Lines, line)
	}
	return d
}

// failedLines is nil if every line is decided.
func failedLines(results []writ.LineResult) error {
	failed, undone := writ.LineResult{}, 0
	for _, r := range results {
		switch r.Outcome {
		case writ.LineFailed, writ.LineNotTried:
			undone++
		case writ.LineResolved, writ.LineUnchanged:
			continue
		}
		if failed.Err == nil {
			failed = r
		}
	}
	if undone == 0 {
		return nil
	}
	if failed.Err == nil {
		failed.Err = intent.Errorf(intent.CodeInterrupted, "the command was interrupted; the same file again does the rest")
	}
	e := *described(failed.Err)
	e.Message = fmt.Sprintf("%d of %d resolutions were not recorded, because of line %d: %s", undone, len(results), failed.Line, e.Message)
	return &toldError{&e}
}

func writeResolved(w io.Writer, d resolvedDocument) {
	rows := [][]string{{"LINE", "OUTCOME", "STATE", "INTENT", "WHY"}}
	for _, line := range d.Lines {
		state, why := "-", "-"
		if line.State != "" {
			state = string(line.State)
		}
		if line.Error != nil {
			why = fmt.Sprintf("%s: %s", line.Error.Code, oneLine.Replace(line.Error.Message))
		}
		rows = append(rows, []string{fmt.Sprint(line.Line), string(line.Outcome), state, line.IntentID.String(), why})
	}
	writeTable(w, rows)
}
