package intent

import "slices"

// CodeRow says what a code means, whoever raises it. docs/errors.md is made of these rows.
type CodeRow struct {
	Code Code
	// Effect is what an error of this code says of the outside world.
	Effect Outcome
	// TryAgain says whether the same request, unchanged, can succeed later.
	TryAgain bool
	// Meaning is one sentence: what happened.
	Meaning string
	// Mend is one sentence: what to do.
	Mend string
}

// CodeGroup is rows under one title.
type CodeGroup struct {
	Title string
	Rows  []CodeRow
}

// Codes returns the table of every stable code, in the order in which it is printed. The
// codes that a tool's attempts carry are not among them: those are the words of tools.
func Codes() []CodeGroup {
	groups := slices.Clone(codeGroups)
	for i := range groups {
		groups[i].Rows = slices.Clone(groups[i].Rows)
	}
	return groups
}

// rowOf returns the row of a code. Of one that it does not know, nothing is claimed.
func rowOf(code Code) CodeRow {
	if row, ok := codeRows[code]; ok {
		return row
	}
	return CodeRow{Code: code, Effect: Unknown}
}

var codeRows = func() map[Code]CodeRow {
	rows := map[Code]CodeRow{}
	for _, group := range codeGroups {
		for _, row := range group.Rows {
			rows[row.Code] = row
		}
	}
	return rows
}()

// Whether the same request, unchanged, can succeed later.
const (
	helps  = true
	inVain = false
)

// codeGroups is the table. The effect of a code is the least that all its occasions have in
// common: where one of them leaves the effect open, the code does, or there are two codes.
var codeGroups = []CodeGroup{
	{"Bad input", []CodeRow{
		{CodeInvalidJSON, NotApplied, inVain,
			"The input is not JSON.",
			"Send one value as RFC 8259 defines it; the offset says where it breaks off."},
		{CodeInvalidUTF8, NotApplied, inVain,
			"The JSON holds bytes that are not UTF-8.",
			"Encode the JSON as UTF-8."},
		{CodeLoneSurrogate, NotApplied, inVain,
			"An escape in the JSON is half of a surrogate pair.",
			"Write the whole pair, or the character itself."},
		{CodeDuplicateMember, NotApplied, inVain,
			"An object in the JSON has one member twice.",
			"Send each member once; nobody can tell which of the two was meant."},
		{CodeTrailingData, NotApplied, inVain,
			"Something follows the JSON value.",
			"Send exactly one value."},
		{CodeTooDeep, NotApplied, inVain,
			"Arrays and objects are nested too deeply.",
			"Send a flatter value."},
		{CodeNumberTooLong, NotApplied, inVain,
			"A number has too many digits.",
			"Send it as a string, or with fewer digits."},
		{CodeNumberOutOfRange, NotApplied, inVain,
			"A number's exponent is out of range.",
			"Send it as a string, or in another unit."},
		{CodePayloadTooLarge, NotApplied, inVain,
			"The payload is larger than is allowed.",
			"Send a reference to large content, not the content; or raise `WRIT_MAX_PAYLOAD` for clients and workers."},
		{CodePayloadNotObject, NotApplied, inVain,
			"The payload is not a JSON object.",
			"Send an object; nothing at all stands for an empty one."},
		{CodeInvalidName, NotApplied, inVain,
			"The name of a tool, tenant, principal or service breaks the grammar of names.",
			"Use letters, digits and `. _ - : @ /`, as the message says; a look-alike letter of another script is none."},
		{CodeInvalidIntentID, NotApplied, inVain,
			"The text is not the id of an intent.",
			"Copy it as it was printed, 36 characters in lower case."},
		{CodeInvalidRequestKey, NotApplied, inVain,
			"The request key is empty, too long, or not printable ASCII.",
			"Give 1 to 255 printable ASCII bytes, or no key at all."},
		{CodeReservedRequestKey, NotApplied, inVain,
			"The request key looks like one that Writ mints and is none.",
			"Choose a key that begins otherwise."},
		{CodeInvalidPayload, NotApplied, inVain,
			"The tool does not take this payload.",
			"Correct what the message names; `writ tools show` says what the tool takes."},
		{CodeInputSchema, NotApplied, inVain,
			"The payload does not satisfy the tool's input schema.",
			"Correct the member that the message names; `writ tools show` prints the schema."},
		{CodeUnknownMember, NotApplied, inVain,
			"The request has a member that does not exist, or one in another case.",
			"Leave it out, or spell it as the documentation does."},
		{CodeInvalidRequest, NotApplied, inVain,
			"The request around a payload is no object, or a member of it is of the wrong kind or cannot be meant.",
			"Send what the message says in its place."},
		{CodeInvalidCursor, NotApplied, inVain,
			"The cursor is none, or belongs to another list.",
			"Leave it out to begin with the first page."},
		{CodeInvalidFilter, NotApplied, inVain,
			"A filter of a list has a value that cannot match.",
			"Correct the filter that the message names."},
		{CodeInvalidNote, Unknown, inVain,
			"The note on a decision is too long, or no text; nothing was decided.",
			"Shorten it, and leave out control characters."},
		{CodeInvalidSpec, NotApplied, inVain,
			"A tool's spec contradicts itself, so the tool is not registered.",
			"Correct the tool's code; nobody who asks for it can."},
		{CodeUnknownTool, NotApplied, inVain,
			"No worker has published a tool of exactly that name.",
			"See `writ tools list`; start the worker that hosts the tool."},
		{CodeIntentIDMismatch, NotApplied, inVain,
			"A workflow was started under an id that its request does not derive.",
			"Start workflow id `tool.execute/` and the id that the message names."},
	}},
	{"Requests and refusals", []CodeRow{
		{CodeIdempotencyConflict, NotApplied, inVain,
			"The request key names another action: another tool, payload or principal. This request sent nothing.",
			"Use a new key for a new action; for the first one, send what was sent first."},
		{CodeIntentNotFound, NotApplied, inVain,
			"There is no such intent in this outbox, and what has no row was never sent.",
			"Check the id, and that `DATABASE_URL` names the right database."},
		{CodeReceiptNotFound, Unknown, helps,
			"There is no receipt: the intent has not ended, or does not exist.",
			"See `writ intent get`; ask again once the intent ended."},
		{CodeUnauthenticated, NotApplied, inVain,
			"The request names no principal.",
			"Say who asks."},
		{CodePolicyDenied, NotApplied, inVain,
			"The policy said no.",
			"Read the reason; what is changed is a new request with a new key."},
		{CodeGateError, NotApplied, inVain,
			"The policy gave no answer, which counts as no.",
			"Mend the policy's service, then ask with a new key."},
		{CodeSpecDiverged, NotApplied, inVain,
			"The tool's behaviour changed between the authorization and the first attempt.",
			"Ask with a new key, so that the new behaviour is authorized."},
		{CodeDuplicateSuspected, NotApplied, inVain,
			"The same principal asked for the same action a short time ago, and the tool refuses repeats without a key.",
			"Look at the first intent; if it is meant twice, give the request a key of its own."},
		{CodeBudgetExceeded, NotApplied, inVain,
			"A budget of the tenant has no room for the intent; no confirmation changes that.",
			"Ask again, with a new key, when the budget begins anew as the message says; or have more allowed with `writ budget set`."},
		{CodeBudgetUncountable, NotApplied, inVain,
			"A budget of money stands, and the payload does not say what the intent costs: the amount is missing, negative or no decimal, or no budget is in its currency.",
			"Name the amount and the currency; or have a budget set in that currency."},
		{CodePayloadMissing, NotApplied, inVain,
			"The request refers to a stored payload that is not there.",
			"Send the request through a client of Writ, with the payload."},
		{CodeTransactionConflict, NotApplied, helps,
			"A request was not enqueued, because the host's transaction lost against another one.",
			"Roll the transaction back and run it again, from its beginning."},
		{CodeTransactionUnusable, NotApplied, inVain,
			"A request was not enqueued, because nothing can be written in the host's transaction: it has failed, has ended, or is read-only.",
			"Begin another transaction; mend what failed before in this one."},
		{CodeNotDispatched, NotApplied, helps,
			"The request is enqueued and no intent yet, so there is nothing to decide on; nothing was sent.",
			"Wait until it is started, or drop it with `writ enqueued drop`; `writ intent get` says what it waits for."},
		{CodeAlreadyDispatched, Unknown, inVain,
			"The request is no longer enqueued but an intent; nothing was changed.",
			"See `writ intent get`; `writ intent cancel` forbids whatever was not sent yet."},
		{CodeDropped, Unknown, inVain,
			"A person dropped the enqueued request before it became an intent; nothing will be sent, and nothing was, unless the message says that it may have been run in what PostgreSQL lost.",
			"Use a new key if it is wanted after all."},
		{CodeConfirmationExpired, NotApplied, inVain,
			"Nobody confirmed the intent in time, so it is refused.",
			"Ask with a new key, and have it confirmed sooner."},
		{CodeConfirmationDenied, NotApplied, inVain,
			"A person denied the intent.",
			"Read who denied it and why in its receipt."},
		{CodeSelfConfirmation, NotApplied, inVain,
			"Who asked for an action may not confirm it.",
			"Have somebody else confirm it."},
		{CodeNotAwaiting, Unknown, inVain,
			"A decision came for an intent that does not wait for one; it changed nothing.",
			"See `writ intent get`: the intent may have run, be running, or be refused."},
	}},
	{"Ends and waits", []CodeRow{
		{CodeFailed, NotApplied, inVain,
			"Every attempt provably had no effect, or a person said so: the message says which, and who said it.",
			"Read the last attempt's code and remove the cause; then `writ reissue`, or ask with a new key if it is proven."},
		{CodeInDoubt, Unknown, inVain,
			"The effect may or may not have happened, and nothing more will be sent.",
			"Ask the provider for the idempotency key that the intent shows. Do not ask with a new key before: it could be done twice."},
		{CodeCancelled, NotApplied, inVain,
			"A person cancelled the intent, and nothing happened; where that is a person's word, the message says whose.",
			"Ask with a new key if it is wanted after all."},
		{CodeContradicted, Unknown, inVain,
			"The intent ended, and evidence that came later shows another effect than its end says; the error's effect is what is shown.",
			"Do not act on the end and do not ask with a new key: read `writ intent get`, and see `writ doubt`."},
		{CodeConfirmationRequired, NotApplied, helps,
			"The intent waits for a person; nothing was sent yet.",
			"Have somebody else run `writ confirm`; the same request key then returns its end. A new key asks for it twice."},
		{CodeNotYetKnown, Unknown, helps,
			"The caller stopped waiting before the end. What was accepted goes on.",
			"Ask again with the same request key: it joins the intent. Give a decision again: the same twice changes nothing."},
	}},
	{"Operators", []CodeRow{
		{CodeInvalidResolution, Unknown, inVain,
			"A resolution is none, or lacks its note; nothing was decided.",
			"Say one of applied, not applied and retry, and why."},
		{CodeNotInDoubt, Unknown, inVain,
			"The intent is not in doubt, so there is no outcome to resolve; nothing was decided.",
			"See `writ intent get`: it may still run, or have ended."},
		{CodeRetryRefused, Unknown, inVain,
			"The intent may not be sent again, because the effect could happen twice; nothing was decided.",
			"Ask the provider what happened, and resolve the intent as applied or not applied."},
		{CodeNotReissuable, Unknown, inVain,
			"It is not on record that nothing happened, so no new key may be sent; nothing was decided.",
			"Resolve the intent first if it is in doubt; only one that failed can be issued again."},
		{CodeAlreadyEnded, Unknown, inVain,
			"The intent has ended, so there is nothing to cancel.",
			"See `writ intent get` for its end."},
		{CodeNoLookup, Unknown, inVain,
			"The tool has no way to ask its provider what happened.",
			"Ask the provider yourself, and resolve the intent."},
		{CodeNoAlert, Unknown, inVain,
			"The intent has no alert that somebody could acknowledge.",
			"See `writ doubt` for those that have one."},
		{CodeInvalidHold, NotApplied, inVain,
			"A hold needs exactly one subject, a tool, a provider or a tenant, and its id is a UUID.",
			"Name one subject, or take the id from `writ hold list`."},
		{CodeHoldNotFound, NotApplied, inVain,
			"No such hold stands.",
			"See `writ hold list`."},
		{CodeInvalidBudget, NotApplied, inVain,
			"A budget allows an exact, non-negative amount of one kind, within windows of 1 minute to 366 days unless it counts what is open; its id is a UUID.",
			"Correct what the message names, or take the id from `writ budget list`."},
		{CodeBudgetNotFound, NotApplied, inVain,
			"No such budget stands.",
			"See `writ budget list`."},
		{CodeInvalidSchedule, NotApplied, inVain,
			"The schedule has no name, no times, or times that Temporal does not understand; nothing was scheduled.",
			"Give it a name without a slash, and an interval or a cron expression."},
		{CodeScheduleExists, NotApplied, inVain,
			"The tenant has a schedule of this name; it stays as it is.",
			"Delete it first, or choose another name; `writ schedule list` shows all."},
		{CodeScheduleNotFound, NotApplied, inVain,
			"The tenant has no schedule of this name.",
			"See `writ schedule list`."},
		{CodeOutboxRestored, Unknown, helps,
			"PostgreSQL was restored or failed over and may have lost commits, so that nobody can say that nothing happened; nothing was decided.",
			"Run `writ recover --after-restore`, then try again. Of an enqueued request that it parked, look in the provider's books, then `writ enqueued retry` or `drop` it."},
	}},
	{"Infrastructure", []CodeRow{
		{CodeDatabaseUnavailable, Unknown, helps,
			"PostgreSQL did not answer, or the connection broke.",
			"Bring it back; the same request key again is safe. `writ doctor` looks at it."},
		{CodeDatabaseDenied, Unknown, inVain,
			"PostgreSQL answered and did not let Writ in: the password, the role or the database.",
			"Mend `DATABASE_URL` or the role; then the same request key is safe."},
		{CodeDatabaseRefused, Unknown, inVain,
			"PostgreSQL refused a statement.",
			"This is a defect of Writ or of its schema; report it with the message."},
		{CodeMigrationRequired, Unknown, inVain,
			"The schema of the outbox is missing or old.",
			"Run `writ migrate up`; then the same request key is safe."},
		{CodeTemporalUnavailable, Unknown, helps,
			"Temporal did not answer.",
			"Bring it back; the same request key again is safe. `writ intent get` works without it."},
		{CodeTemporalRefused, Unknown, inVain,
			"Temporal answered and did not start the workflow: its rights or its limits.",
			"Mend the `TEMPORAL_*` settings; then the same request key is safe."},
		{CodePayloadKeyMissing, Unknown, inVain,
			"What Temporal stores of the intent is sealed under a key that this process does not have.",
			"Add the key to `WRIT_PAYLOAD_KEYS`, behind the first one; then the same request key is safe."},
		{CodePayloadNotAuthentic, Unknown, inVain,
			"What Temporal stores of the intent does not open under the key that it names: it was changed, or the id names another key.",
			"Compare `WRIT_PAYLOAD_KEYS` of all clients and workers; if they agree, find out who writes to Temporal. Then the same request key is safe."},
		{CodeInvalidConfig, NotApplied, inVain,
			"A setting cannot be used, so nothing was tried.",
			"Correct the variable or flag that the message names."},
		{CodeRecordsExist, NotApplied, inVain,
			"`writ migrate down` would destroy intents and receipts.",
			"Back them up and say `--discard-records`."},
		{CodeMigrationFailed, NotApplied, helps,
			"The database did not take a migration. No tool ran; what the schema is now, `writ migrate status` tells.",
			"Remove the cause; the same command again is safe."},
	}},
	{"Command line", []CodeRow{
		{CodeUsage, NotApplied, inVain,
			"The command line is not understood.",
			"See `--help` of the command."},
		{CodePayloadUnreadable, NotApplied, inVain,
			"The file or the stream of a payload, a result or resolutions cannot be read.",
			"Name a readable file (after `@`, but for `--from`), or `-` for standard input."},
		{CodeInterrupted, NotApplied, helps,
			"The command was stopped, or its time was over, before anything was asked for.",
			"Give the command again."},
		{CodeOutputFailed, Unknown, helps,
			"The answer could not be written to standard output. What was done is done.",
			"Give the command again, for `execute` with the same `--key`."},
		{CodeUnhealthy, NotApplied, helps,
			"A check of `writ doctor` failed. It changed nothing.",
			"Mend what the check names, and look again."},
		{CodeUnexpected, Unknown, inVain,
			"A failure has no code, which is a defect of Writ.",
			"See `writ intent get`, and report the message."},
	}},
}
