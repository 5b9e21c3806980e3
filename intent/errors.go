package intent

import (
	"errors"
	"fmt"
)

// Outcome is what is known of an effect on the outside world.
type Outcome string

const (
	// Applied: the effect happened.
	Applied Outcome = "applied"
	// NotApplied: the effect provably did not happen.
	NotApplied Outcome = "not_applied"
	// Unknown: the effect may or may not have happened.
	Unknown Outcome = "unknown"
)

// Code names one kind of refusal or failure. Codes are stable: programs match on
// them, and a code never changes its meaning.
type Code string

// The codes of bad input. All of them are raised before anything is written.
const (
	CodeInvalidJSON        Code = "invalid_json"
	CodeInvalidUTF8        Code = "invalid_utf8"
	CodeLoneSurrogate      Code = "lone_surrogate"
	CodeDuplicateMember    Code = "duplicate_member"
	CodeTrailingData       Code = "trailing_data"
	CodeTooDeep            Code = "too_deep"
	CodeNumberTooLong      Code = "number_too_long"
	CodeNumberOutOfRange   Code = "number_out_of_range"
	CodePayloadTooLarge    Code = "payload_too_large"
	CodePayloadNotObject   Code = "payload_not_object"
	CodeInvalidName        Code = "invalid_name"
	CodeInvalidIntentID    Code = "invalid_intent_id"
	CodeInvalidRequestKey  Code = "invalid_request_key"
	CodeReservedRequestKey Code = "reserved_request_key"
	CodeInvalidPayload     Code = "invalid_payload"
	CodeInputSchema        Code = "input_schema_violation"
	CodeUnknownMember      Code = "unknown_member"
	CodeInvalidRequest     Code = "invalid_request"
	CodeInvalidCursor      Code = "invalid_cursor"
	CodeInvalidFilter      Code = "invalid_filter"
	CodeInvalidNote        Code = "invalid_note"
	CodeInvalidCommitment  Code = "invalid_commitment"
	CodeInvalidSpec        Code = "invalid_tool_spec"
	CodeInvalidPolicy      Code = "invalid_policy"
	CodeUnknownTool        Code = "unknown_tool"
	CodeIntentIDMismatch   Code = "intent_id_mismatch"
)

// The codes of requests and intents.
const (
	CodeIdempotencyConflict Code = "idempotency_conflict"
	CodeIntentNotFound      Code = "intent_not_found"
	CodeReceiptNotFound     Code = "receipt_not_found"
	CodeUnauthenticated     Code = "unauthenticated"
	// CodeSystemPrincipal: a name of Writ's own was given for somebody who asks or decides.
	CodeSystemPrincipal Code = "system_principal"
	// CodeRiskExceeded: the risk is over what the tool may be run with.
	CodeRiskExceeded Code = "risk_exceeded"
	// CodeConsentGateMissing and CodeEgressGateMissing: the tool declares a need that nobody can
	// answer for.
	CodeConsentGateMissing Code = "consent_gate_missing"
	CodeConsentRequired    Code = "consent_required"
	CodeEgressGateMissing  Code = "egress_gate_missing"
	CodeEgressDenied       Code = "egress_denied"
	CodePolicyDenied       Code = "policy_denied"
	CodeGateError          Code = "gate_error"
	CodeSpecDiverged       Code = "spec_diverged"
	CodeDuplicateSuspected Code = "duplicate_suspected"
	// CodeBudgetExceeded: a budget has no room.
	CodeBudgetExceeded Code = "budget_exceeded"
	// CodeBudgetUncountable: a budget of money stands, and the cost cannot be told.
	CodeBudgetUncountable Code = "budget_uncountable"
	CodePayloadMissing    Code = "payload_missing"
	// CodeTransactionConflict: a host's transaction lost against another one.
	CodeTransactionConflict Code = "transaction_conflict"
	// CodeTransactionUnusable: nothing can be written in the host's transaction.
	CodeTransactionUnusable Code = "transaction_unusable"
	// CodeNotDispatched: the request is enqueued, and no intent yet.
	CodeNotDispatched Code = "not_dispatched"
	// CodeAlreadyDispatched: the request is an intent already.
	CodeAlreadyDispatched Code = "already_dispatched"
	// CodeDropped: a person took back a request before it became an intent.
	CodeDropped Code = "dropped"
	// CodeConfirmationRequired is of an intent that waits for a person.
	CodeConfirmationRequired Code = "confirmation_required"
	CodeConfirmationExpired  Code = "confirmation_expired"
	CodeConfirmationDenied   Code = "confirmation_denied"
	// CodeSelfConfirmation: the requester may not confirm what it asked for.
	CodeSelfConfirmation Code = "self_confirmation"
	// CodeNotPermitted: the policies do not let somebody decide so.
	CodeNotPermitted Code = "not_permitted"
	// CodeAlreadyConfirmed: the same person confirmed before, and others still have to.
	CodeAlreadyConfirmed Code = "already_confirmed"
	// CodeCommitmentChanged: what was shown is not what would run.
	CodeCommitmentChanged Code = "commitment_changed"
	// CodeConfirmationInsufficient: the policy asks for more people than have confirmed and may.
	CodeConfirmationInsufficient Code = "confirmation_insufficient"
	// CodeNotAwaiting: a decision came for an intent that does not wait for one.
	CodeNotAwaiting Code = "not_awaiting_confirmation"
	CodeFailed      Code = "failed"
	CodeInDoubt     Code = "in_doubt"
	CodeCancelled   Code = "cancelled"
	// CodeContradicted: evidence that came after the end shows another effect than the end says.
	CodeContradicted Code = "contradicted"
)

// The codes of what operators decide.
const (
	CodeInvalidResolution Code = "invalid_resolution"
	CodeInvalidHold       Code = "invalid_hold"
	CodeHoldNotFound      Code = "hold_not_found"
	CodeInvalidBudget     Code = "invalid_budget"
	CodeBudgetNotFound    Code = "budget_not_found"
	CodePoliciesNotFound  Code = "policies_not_found"
	CodePolicyTestFailed  Code = "policy_test_failed"
	// CodeNotInDoubt: only the outcome of an intent in doubt can be resolved.
	CodeNotInDoubt Code = "not_in_doubt"
	// CodeRetryRefused: trying again could make the effect happen twice.
	CodeRetryRefused Code = "retry_refused"
	// CodeNotReissuable: it is not on record that nothing happened.
	CodeNotReissuable Code = "not_reissuable"
	CodeAlreadyEnded  Code = "already_ended"
	// CodeNoLookup: the tool has no way to ask its provider.
	CodeNoLookup Code = "no_lookup"
	CodeNoAlert  Code = "no_alert"
	// CodeInvalidSchedule: it has no times, or Temporal does not understand them.
	CodeInvalidSchedule  Code = "invalid_schedule"
	CodeScheduleExists   Code = "schedule_exists"
	CodeScheduleNotFound Code = "schedule_not_found"
	// CodeOutboxRestored: the database may have lost commits, and no operator has said so yet of
	// what they may have held.
	CodeOutboxRestored Code = "outbox_restored"
)

// The codes of infrastructure: the answer is missing, not negative.
const (
	CodeDatabaseUnavailable Code = "database_unavailable"
	CodeDatabaseRefused     Code = "database_refused"
	// CodeDatabaseDenied: PostgreSQL answered, and did not let Writ in.
	CodeDatabaseDenied      Code = "database_access_denied"
	CodeTemporalUnavailable Code = "temporal_unavailable"
	// CodeTemporalRefused: Temporal answered, and did not start the workflow.
	CodeTemporalRefused Code = "temporal_refused"
	// CodePayloadKeyMissing: what Temporal stores is sealed under a key that this process lacks.
	CodePayloadKeyMissing   Code = "payload_key_missing"
	CodePayloadNotAuthentic Code = "payload_not_authentic"
	CodeMigrationRequired   Code = "migration_required"
	CodeRecordsExist        Code = "records_exist"
	CodeInvalidConfig       Code = "invalid_configuration"
	CodeNotYetKnown         Code = "not_yet_known"
)

// The codes of the command line. They share the namespace of all others, so that one table
// says what each means.
const (
	CodeUsage             Code = "usage"
	CodePayloadUnreadable Code = "payload_unreadable"
	CodeInterrupted       Code = "interrupted"
	CodeMigrationFailed   Code = "migration_failed"
	CodeOutputFailed      Code = "output_failed"
	CodeUnhealthy         Code = "unhealthy"
	// CodeUnexpected: a failure that nobody gave a code, which is a defect.
	CodeUnexpected Code = "unexpected"
)

// Error is every refusal and failure that Writ reports: a stable code, one
// sentence that says what to do, whether the effect happened, and whether the
// same request again can help. Match it with errors.As, or errors.Is against
// another *Error of the same code. Only [Errorf] makes one, so that what an error says of
// the effect is what the table of codes says.
type Error struct {
	Code    Code
	Message string
	// Effect is what is known of the outside world at this moment. It is never empty:
	// an error that leaves the caller unsure whether money moved is a defect.
	Effect Outcome
	// TryAgain says whether the same request, unchanged, can succeed later. With a
	// request key trying again is always safe.
	TryAgain bool
	// Offset is the byte at which input was rejected, or -1 where that has no meaning.
	Offset int64
	// Cause is the error underneath, if any.
	Cause error
}

// Errorf returns an error whose Effect and TryAgain are those of its code, see [Codes]. A
// code that is not there, as of another release, leaves the effect unknown. A %w verb becomes Cause.
func Errorf(code Code, format string, args ...any) *Error {
	wrapped := fmt.Errorf(format, args...)
	row := rowOf(code)
	return &Error{
		Code: code, Message: wrapped.Error(), Effect: row.Effect, TryAgain: row.TryAgain,
		Offset: -1, Cause: errors.Unwrap(wrapped),
	}
}

// Proven returns the error with what the situation proves of the effect, where its code
// leaves that open: a row that is refused shows that nothing was sent, whatever the code of
// its refusal. What the code is certain of stays.
func (e *Error) Proven(effect Outcome) *Error {
	if e.Effect != Unknown {
		return e
	}
	proven := *e
	proven.Effect = effect
	return &proven
}

func (e *Error) Error() string { return string(e.Code) + ": " + e.Message }

// Unwrap returns Cause.
func (e *Error) Unwrap() error { return e.Cause }

// Is reports whether target is an *Error of the same code.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// CodeOf returns the code of the first *Error in err's tree, or "" if there is none.
func CodeOf(err error) Code {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return ""
}
