package intent

import "slices"

// ReasonRow says what a step's reason means. docs/errors.md is made of these rows.
type ReasonRow struct {
	Reason string
	// Meaning is one sentence.
	Meaning string
}

// Reasons returns the table of the reasons that [Next] gives, in the order of an intent's
// life. A step that refuses or rejects has a [Code] for its reason instead.
func Reasons() []ReasonRow { return slices.Clone(reasonRows) }

var reasonRows = []ReasonRow{
	{ReasonAwaitsConfirmation, "The intent waits for a person who confirms or denies it."},
	{ReasonFirstAttempt, "Nothing was sent yet; the first attempt is due."},
	{ReasonResend, "An earlier attempt has no certain outcome, and the provider surely remembers its key: the same key is sent again."},
	{ReasonRunAgain, "An earlier attempt of a read has no answer; a read has no effect, so it runs again."},
	{ReasonRetry, "Every earlier attempt provably had no effect, and the tool allows another one."},
	{ReasonBackoff, "The next attempt waits, as long as the provider asked for or the retry policy says."},
	{ReasonLeaseRunning, "An attempt has not answered and may still do so; its lease is waited for."},
	{ReasonApplied, "An attempt had the effect: the intent is completed."},
	{ReasonFinalFailure, "The last attempt had no effect, and another one cannot help: the intent failed."},
	{ReasonBudgetSpent, "All allowed attempts were made: the intent failed if each provably had no effect, else it is in doubt."},
	{ReasonWindowPassed, "The outcome is open, and the provider may have forgotten the key, so that the same key could act twice."},
	{ReasonKeyWindowUnknown, "The outcome is open, and nobody knows how long the provider remembers a key."},
	{ReasonNeverSentTwice, "The outcome is open, and the tool has no key that a second send could be recognized by."},
	{ReasonRefused, "The policy or a person said no; nothing was sent."},
	{ReasonEnded, "The intent has ended; nothing more happens."},
	{ReasonAwaitsEvidence, "The intent is in doubt; it waits for late evidence or for an operator."},
}
