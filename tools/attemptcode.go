package tools

import "writ/intent"

// The codes of attempts that more than one package gives.
const (
	// CodeNotSent: the time of the attempt was over before anything was sent.
	CodeNotSent = "not_sent"
	// CodeToolError: the tool returned an error without a code.
	CodeToolError = "tool_error"
	// CodePanic: the tool, or a function of its [Group], panicked.
	CodePanic = "panic"
	// CodeGoexit: the tool, or a function of its [Group], ended its goroutine instead of
	// returning.
	CodeGoexit = "goexit"
	// CodeNoTransaction: Invoke of a transactional tool was called.
	CodeNoTransaction = "no_transaction"
)

// AttemptCode says what a code means that stands in an attempt and its receipt.
// docs/errors.md is made of these rows; all other codes are the words of tools and
// providers.
type AttemptCode struct {
	// Code is the code; in that of a family of HTTP statuses, x is any digit.
	Code string
	// Outcome is what the attempt is known to have done.
	Outcome intent.Outcome
	// Final and InProgress are those of the [Failure].
	Final, InProgress bool
	// Meaning is one sentence, or a few.
	Meaning string
}

// AttemptCodes returns the table of the codes above.
func AttemptCodes() []AttemptCode {
	return []AttemptCode{
		{Code: CodeNotSent, Outcome: intent.NotApplied, Meaning: "The time of the attempt was over, or its context ended, before anything was sent."},
		{Code: CodeToolError, Outcome: intent.Unknown,
			Meaning: "The tool returned an error without saying what it did before, or a failure without a code, whose outcome stands; of a read and a transactional tool it is certain that nothing was changed."},
		{Code: CodePanic, Outcome: intent.Unknown,
			Meaning: "The tool, or a function of its `Group`, panicked; of a read and a transactional tool it is certain that nothing was changed. The message of the attempt holds the stack, never the panic's value."},
		{Code: CodeGoexit, Outcome: intent.Unknown,
			Meaning: "The tool, or a function of its `Group`, ended its goroutine instead of returning."},
		{Code: CodeNoTransaction, Outcome: intent.NotApplied, Final: true,
			Meaning: "A tool that makes its effect in the outbox's database was called without a transaction."},
	}
}
