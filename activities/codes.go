package activities

import (
	"writ/intent"
	"writ/tools"
)

// The codes that the engine itself gives an attempt; all others are the tool's words. They
// stand in attempts and receipts.
const (
	// CodeNotSent: the time of the attempt was over before the tool was called.
	CodeNotSent = tools.CodeNotSent
	// CodePanic: the tool panicked.
	CodePanic = "panic"
	// CodeGoexit: the tool ended its goroutine instead of returning.
	CodeGoexit = "goexit"
	// CodeDeadlineExceeded: the tool did not answer by the end of its lease.
	CodeDeadlineExceeded = "deadline_exceeded"
	// CodeInvalidOutput: the effect happened, and the answer is not what the spec promises.
	CodeInvalidOutput = "invalid_output"
	// CodeResultLost: the effect happened, and of its large answer only size and digest are
	// kept, because the database did not answer until the attempt's lease had ended.
	CodeResultLost = "result_lost"
	// CodeResultCut: the effect happened, and only the beginning of the answer is kept.
	CodeResultCut = "result_cut"
)

// AttemptCodes returns the table of those codes.
func AttemptCodes() []tools.AttemptCode {
	return []tools.AttemptCode{
		{Code: CodePanic, Outcome: intent.Unknown,
			Meaning: "The tool panicked; of a read it is certain that nothing was changed. The message of the attempt holds the stack."},
		{Code: CodeGoexit, Outcome: intent.Unknown, Meaning: "The tool ended its goroutine instead of returning."},
		{Code: CodeDeadlineExceeded, Outcome: intent.Unknown, Meaning: "The tool did not answer by the end of its lease."},
		{Code: CodeInvalidOutput, Outcome: intent.Applied, Meaning: "The effect happened, and the answer is not what the tool's spec promises."},
		{Code: CodeResultLost, Outcome: intent.Applied,
			Meaning: "The effect happened, and of its large answer only size and digest are kept, because the database did not answer in time."},
		{Code: CodeResultCut, Outcome: intent.Applied,
			Meaning: "The effect happened, and of its answer only the beginning is kept, with the size and digest of all of it."},
	}
}
