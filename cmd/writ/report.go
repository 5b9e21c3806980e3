package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"writ"
	"writ/intent"
	"writ/policy"
)

// errorDocument is the answer of a command that did not succeed, for -o json.
type errorDocument struct {
	Error errorBody `json:"error"`
	// Intent is what is known of the intent: all of it, or its id and request key.
	Intent  any             `json:"intent,omitempty"`
	Receipt json.RawMessage `json:"receipt,omitempty"`
	Answer  *writ.Answer    `json:"answer,omitempty"`
}

type errorBody struct {
	Code     intent.Code    `json:"code"`
	Message  string         `json:"message"`
	Effect   intent.Outcome `json:"effect"`
	TryAgain bool           `json:"try_again"`
	// Confirming says that a person's confirmation lets the request go on. Only of denials.
	Confirming *bool `json:"confirming,omitempty"`
	// Offset is the byte at which input was rejected.
	Offset *int64 `json:"offset,omitempty"`
}

// toldError is an error that the command's document has told already.
type toldError struct{ cause error }

func (e *toldError) Error() string { return e.cause.Error() }
func (e *toldError) Unwrap() error { return e.cause }

// report tells the user what went wrong: always as text on standard error, and with -o
// json as the command's document. A failed write has nowhere to be told, and of an
// examination the report is the document.
func (p *program) report(err error) {
	if err == nil {
		return
	}
	e := described(err)
	var of *executionError
	about := errors.As(err, &of)
	var told *toldError
	if p.output == outputJSON && !errors.As(err, &told) && e.Code != intent.CodeOutputFailed && e.Code != intent.CodeUnhealthy {
		document := errorDocument{Error: bodyOf(e)}
		if about {
			document.Intent, document.Receipt, document.Answer = of.known(), of.execution.Receipt, of.execution.Answer
		}
		_ = writeJSON(p.stdout, document)
	}
	fmt.Fprintf(p.stderr, "writ: %s\n", printable(oneLine.Replace(e.Error())))
	if (e.Code == intent.CodeDatabaseUnavailable || e.Code == intent.CodeMigrationFailed) && !p.connection.namesDatabase() {
		fmt.Fprintln(p.stderr, "writ: no database was named, so PostgreSQL's own defaults were tried; use --database-url or DATABASE_URL")
	}
	if help := helpOf(e); help != "" {
		fmt.Fprintf(p.stderr, "writ: %s\n", help)
	}
	if confirming, denial := policy.Confirming(e.Code); denial && !confirming {
		fmt.Fprintf(p.stderr, "writ: what to do: %s\n", mendOf(e.Code))
	}
	if !about {
		return
	}
	fmt.Fprintf(p.stderr, "writ: %s\n", effectOf(e))
	for _, hint := range of.hints(e.Code) {
		fmt.Fprintf(p.stderr, "writ: %s\n", printable(hint))
	}
}

// oneLine joins the lines of drivers' messages, which would be shown as escapes otherwise.
var oneLine = strings.NewReplacer("\n\t", " ", "\n", " ")

// described returns the coded error in err, or one that says that there is none.
func described(err error) *intent.Error {
	var e *intent.Error
	if errors.As(err, &e) {
		return e
	}
	return intent.Errorf(intent.CodeUnexpected, "%w", err)
}

func bodyOf(e *intent.Error) errorBody {
	body := errorBody{Code: e.Code, Message: e.Message, Effect: e.Effect, TryAgain: e.TryAgain}
	if e.Offset >= 0 {
		body.Offset = &e.Offset
	}
	if confirming, denial := policy.Confirming(e.Code); denial {
		body.Confirming = &confirming
	}
	return body
}

// helpOf says of a denial what can help; "" of every other error.
func helpOf(e *intent.Error) string {
	confirming, denial := policy.Confirming(e.Code)
	switch {
	case !denial:
		return ""
	case e.TryAgain && confirming:
		return "a confirmation lets it go on, and the same request again tells its end"
	case confirming:
		return "a confirmation lets it go on; the same request again does not help"
	case e.TryAgain:
		return "the same request again can help; a confirmation cannot"
	case e.Code == intent.CodeConfirmationExpired:
		return "the same request again, from its requester, is decided on anew; a confirmation cannot help any more"
	}
	return "neither the same request again nor a confirmation can help while its reason stands"
}

// mendOf is what the table of codes says to do.
func mendOf(code intent.Code) string {
	for _, group := range intent.Codes() {
		for _, row := range group.Rows {
			if row.Code == code {
				return row.Mend
			}
		}
	}
	return ""
}

// effectOf says what is known of the outside world.
func effectOf(e *intent.Error) string {
	switch e.Effect {
	case intent.Applied:
		return "the effect happened"
	case intent.NotApplied:
		return "this request had no effect"
	case intent.Unknown:
	}
	if e.Code == intent.CodeNotYetKnown {
		return "how it ends is not known yet"
	}
	return "it is not known whether the effect happened"
}
