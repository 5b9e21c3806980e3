package activities

import (
	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

// The codes that the engine itself gives an attempt; all others are the tool's words. They
// stand in attempts and receipts.
const (
	// CodeNotSent: the time of the attempt was over before the tool was called.
	CodeNotSent = tools.CodeNotSent
	// CodeToolError: the tool returned an error without a code.
	CodeToolError = tools.CodeToolError
	// CodePanic: the tool panicked.
	CodePanic = tools.CodePanic
	// CodeGoexit: the tool ended its goroutine instead of returning.
	CodeGoexit = tools.CodeGoexit
	// CodeDeadlineExceeded: the tool did not answer by the end of its lease.
	CodeDeadlineExceeded = "deadline_exceeded"
	// CodeInvalidOutput: the effect happened, and the answer is not what the spec promises.
	CodeInvalidOutput = "invalid_output"
	// CodeResultLost: the effect happened, and of its large answer only size and digest are
	// kept, because the database did not answer until the attempt's lease had ended.
	CodeResultLost = "result_lost"
	// CodeResultCut: the effect happened, and only the beginning of the answer is kept.
	CodeResultCut = "result_cut"
	// CodeResultBroken: the effect happened, and only the beginning of the answer arrived.
	CodeResultBroken = "result_broken"
)

// AttemptCodes returns the table of those codes.
func AttemptCodes() []tools.AttemptCode {
	return []tools.AttemptCode{
		{Code: CodeDeadlineExceeded, Outcome: intent.Unknown, Meaning: "The tool did not answer by the end of its lease."},
		{Code: CodeInvalidOutput, Outcome: intent.Applied, Meaning: "The effect happened, and the answer is not what the tool's spec promises."},
		{Code: CodeResultLost, Outcome: intent.Applied,
			Meaning: "The effect happened, and of its large answer only size and digest are kept, because the database did not answer in time."},
		{Code: CodeResultCut, Outcome: intent.Applied,
			Meaning: "The effect happened, and of its answer only the beginning is kept, with the size and digest of all of it."},
		{Code: CodeResultBroken, Outcome: intent.Applied,
			Meaning: "The effect happened, and only the beginning of its answer arrived, which is what is kept; size and digest are those of the beginning."},
	}
}

// TransactionCodes returns the table of the codes that the outbox gives attempts whose effect
// is in its own database. None of them left anything behind.
func TransactionCodes() []tools.AttemptCode {
	return []tools.AttemptCode{
		{Code: outbox.CodeFenced, Outcome: intent.NotApplied,
			Meaning: "A later attempt, or the end of the intent, took the right to make the effect from this attempt before it had made it."},
		{Code: outbox.CodeTransactionBroken, Outcome: intent.NotApplied,
			Meaning: "A statement of the tool failed, and the tool went on as if it had not; or the tool left one behind that did not end."},
		{Code: outbox.CodeTransactionEnded, Outcome: intent.NotApplied, Final: true, Meaning: "The tool ended the engine's transaction."},
		{Code: outbox.CodeStatementRefused, Outcome: intent.NotApplied, Final: true,
			Meaning: "The tool tried a statement, or an option of pgx, that the engine's transaction does not take, such as COMMIT or SET."},
		{Code: outbox.CodeTransactionLost, Outcome: intent.NotApplied,
			Meaning: "The transaction could not begin or not go on, because PostgreSQL or the connection to it did not hold, or the time was over."},
		{Code: outbox.CodeNotSealed, Outcome: intent.NotApplied,
			Meaning: "The tool had succeeded, and Writ could not write the evidence or the receipt of it."},
		{Code: outbox.CodeCommitRefused, Outcome: intent.NotApplied,
			Meaning: "PostgreSQL refused the COMMIT, for example for a deferred constraint of the tool's own tables."},
		{Code: outbox.CodeCommitLost, Outcome: intent.NotApplied,
			Meaning: "The connection broke during the COMMIT, which did not take effect."},
		{Code: outbox.CodeLockTimeout, Outcome: intent.NotApplied, Meaning: "The tool waited for a lock until the attempt's time was over."},
		{Code: outbox.CodeStatementTimeout, Outcome: intent.NotApplied, Meaning: "A statement of the tool ran until the attempt's time was over."},
		{Code: outbox.CodeIdleTimeout, Outcome: intent.NotApplied,
			Meaning: "The tool, or its worker, sent no statement until the attempt's time was over, and PostgreSQL closed the connection."},
		{Code: outbox.CodeDeadlock, Outcome: intent.NotApplied, Meaning: "PostgreSQL broke a deadlock of the tool with somebody else."},
	}
}
