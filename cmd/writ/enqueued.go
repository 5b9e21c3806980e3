package main

import (
	"fmt"

	"writ"
)

// describeSubmission adds what an enqueued request waits for.
func describeSubmission(b *block, s writ.Submission) {
	b.add("not before", moment(s.NotBefore))
	b.add("tried", triesText(s))
	b.add("parked", moment(s.ParkedAt))
	if s.DecidedBy != "" {
		b.add(decidedAs(s), decisionText(s.DecidedBy, s.Note, s.DecidedAt))
	}
}

// triesText says how often a request was tried and what the last time said.
func triesText(s writ.Submission) string {
	text := fmt.Sprintf("%d times", s.Tries)
	switch s.Tries {
	case 0:
		text = "not yet"
	case 1:
		text = "once"
	}
	if s.ErrorCode != "" {
		text += "; " + string(s.ErrorCode) + ": " + s.Error
	}
	return text
}

// decidedAs says what a person decided about a request.
func decidedAs(s writ.Submission) string {
	if s.DroppedAt.IsZero() {
		return "retried"
	}
	return "dropped"
}
