package intent

import "slices"

// ReasonRow says what a step's reason means. docs/errors.md is made of these rows.
type ReasonRow struct {
	Reason string
	// Meaning is one sentence.
	Meaning string
}

// Reasons returns the table of the reasons that [Next] gives, and of those of enqueued requests,
// in the order of an intent's life. A step that refuses or rejects has a [Code] for its reason instead.
func Reasons() []ReasonRow { return slices.Clone(reasonRows) }

var reasonRows = []ReasonRow{
	{ReasonEnqueued, "The request is enqueued; it is started when it is due."},
	{ReasonParked, "The enqueued request was rejected, or could not be started; it waits for a person: see `writ enqueued list --parked`."},
	{ReasonDropped, "A person dropped the enqueued request; it is never run."},
	{ReasonAwaitsConfirmation, "The intent waits for a person who confirms or denies it."},
	{ReasonFirstAttempt, "Nothing was sent under this key yet; its first attempt is due."},
	{ReasonHeld, "A hold on the tool, its provider or the tenant stands: nothing is sent before it is lifted."},
	{ReasonAwaitsBudget, "A budget has no room for the intent, and none has counted it: nothing is sent before there is."},
	{ReasonRestored, "PostgreSQL was restored or failed over, and may have lost commits: nothing is sent before an operator has run writ recover --after-restore."},
	{ReasonResend, "An earlier attempt has no certain outcome, and the provider surely remembers its key: the same key is sent again."},
	{ReasonRunAgain, "An earlier attempt has no answer, and cannot have had an effect that is not on the row: it runs again."},
	{ReasonRetry, "Every earlier attempt provably had no effect, and the tool allows another one."},
	{ReasonSendAgain, "A lookup after the settle delay showed that the earlier attempts had no effect: it is sent again."},
	{ReasonBackoff, "The next attempt waits, as long as the provider asked for or the retry policy says."},
	{ReasonLeaseRunning, "An attempt has not answered and may still do so; its lease is waited for."},
	{ReasonLookUp, "The provider is asked what became of an attempt without a certain outcome."},
	{ReasonNextLookup, "The provider was asked, and did not say; it is asked again after a while."},
	{ReasonSettling, "The request may still land, so that to find nothing would show nothing: the provider is asked after the settle delay."},
	{ReasonKeySpent, "Nothing happened under this key, and it cannot be used again: the next attempt goes under the key of a new generation."},
	{ReasonApplied, "An attempt had the effect: the intent is completed."},
	{ReasonFound, "A lookup found the effect: the intent is completed."},
	{ReasonAlready, "The provider says that the effect is there already, after an attempt without a certain outcome: the intent is completed."},
	{ReasonResolvedApplied, "An operator said that the effect happened: the intent is completed."},
	{ReasonResolvedNotApplied, "An operator said that the effect did not happen: the intent failed."},
	{ReasonPerformedTwice, "The effect happened more than once: the provider broke its contract. Somebody has to look."},
	{ReasonMaybeTwice, "The effect happened, and an attempt under another key, or of a tool whose provider looks at none, may have had it once more. Somebody has to look."},
	{ReasonFinalFailure, "The last attempt had no effect, and another one cannot help: the intent failed."},
	{ReasonBudgetSpent, "All allowed attempts were made: the intent failed if each provably had no effect, else it is in doubt."},
	{ReasonLookupsSpent, "All allowed lookups were made, and none says what happened."},
	{ReasonWindowPassed, "The outcome is open, and the provider may have forgotten the key, so that the same key could act twice."},
	{ReasonKeyWindowUnknown, "The outcome is open, and nobody knows how long the provider remembers a key."},
	{ReasonStoredError, "The outcome is open, and the provider answers the key with an error that it has, or may have, stored, so that sending it again tells nothing."},
	{ReasonNeverSentTwice, "The outcome is open, and the tool has no key that a second send could be recognized by."},
	{ReasonOldKeyOpen, "The outcome is open under the key of an earlier generation, so that no other key may be sent."},
	{ReasonCancelled, "A person cancelled the intent: nothing more is sent."},
	{ReasonUnconfirmed, "The database may have lost a confirmation and what was sent after it, and nobody has confirmed the intent since: nothing more is sent."},
	{ReasonRevoked, "The policy said no after something was sent: nothing more is sent."},
	{ReasonRefused, "The policy or a person said no; nothing was sent."},
	{ReasonEnded, "The intent has ended; nothing more happens."},
	{ReasonAwaitsEvidence, "The intent is in doubt; it waits for late evidence or for an operator."},
	{ReasonAppliedAfterAll, "Evidence that came after the end shows that the effect happened. Somebody has to look."},
	{ReasonWithdrawn, "Evidence that came later took back what had spoken against the end."},
	{ReasonNotAppliedAfterAll, "Evidence that came after the end shows that the effect did not happen. Somebody has to look."},
}
