package activities

// The codes that the engine itself gives an attempt; all others are the tool's words. They
// stand in attempts and receipts.
const (
	// CodeNotSent: the time of the attempt was over before the tool was called.
	CodeNotSent = "not_sent"
	// CodePanic: the tool panicked.
	CodePanic = "panic"
	// CodeGoexit: the tool ended its goroutine instead of returning.
	CodeGoexit = "goexit"
	// CodeDeadlineExceeded: the tool did not answer by the end of its lease.
	CodeDeadlineExceeded = "deadline_exceeded"
	// CodeInvalidOutput: the effect happened, and the answer is not what the spec promises.
	CodeInvalidOutput = "invalid_output"
	// CodeResultCut: the effect happened, and only the beginning of the answer is kept.
	CodeResultCut = "result_cut"
)
