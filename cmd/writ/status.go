package main

import (
	"writ/intent"
)

// The exit statuses.
const (
	statusCompleted      = 0
	statusInfrastructure = 1
	statusUsage          = 2
	statusRefused        = 3
	statusFailed         = 4
	statusInDoubt        = 5
	statusWaiting        = 6
	statusConflict       = 7
	statusCancelled      = 8
)

// statuses gives every code its exit status.
var statuses = map[intent.Code]int{
	intent.CodeUsage:              statusUsage,
	intent.CodePayloadUnreadable:  statusUsage,
	intent.CodeInvalidJSON:        statusUsage,
	intent.CodeInvalidUTF8:        statusUsage,
	intent.CodeLoneSurrogate:      statusUsage,
	intent.CodeDuplicateMember:    statusUsage,
	intent.CodeTrailingData:       statusUsage,
	intent.CodeTooDeep:            statusUsage,
	intent.CodeNumberTooLong:      statusUsage,
	intent.CodeNumberOutOfRange:   statusUsage,
	intent.CodePayloadTooLarge:    statusUsage,
	intent.CodePayloadNotObject:   statusUsage,
	intent.CodeInvalidName:        statusUsage,
	intent.CodeInvalidIntentID:    statusUsage,
	intent.CodeInvalidRequestKey:  statusUsage,
	intent.CodeReservedRequestKey: statusUsage,
	intent.CodeInvalidPayload:     statusUsage,
	intent.CodePayloadMissing:     statusUsage,
	intent.CodeInputSchema:        statusUsage,
	intent.CodeUnknownMember:      statusUsage,
	intent.CodeInvalidRequest:     statusUsage,
	intent.CodeInvalidCursor:      statusUsage,
	intent.CodeInvalidFilter:      statusUsage,
	intent.CodeInvalidNote:        statusUsage,
	intent.CodeInvalidCommitment:  statusUsage,
	intent.CodeInvalidSpec:        statusUsage,
	intent.CodeInvalidPolicy:      statusUsage,
	intent.CodeUnknownTool:        statusUsage,
	intent.CodeIntentIDMismatch:   statusUsage,
	intent.CodeIntentNotFound:     statusUsage,
	intent.CodeReceiptNotFound:    statusUsage,
	intent.CodeInvalidConfig:      statusUsage,
	intent.CodeInvalidResolution:  statusUsage,
	intent.CodeInvalidHold:        statusUsage,
	intent.CodeHoldNotFound:       statusUsage,
	intent.CodeInvalidBudget:      statusUsage,
	intent.CodeBudgetNotFound:     statusUsage,
	intent.CodePoliciesNotFound:   statusUsage,
	intent.CodePolicyTestFailed:   statusUsage,
	intent.CodeNoLookup:           statusUsage,
	intent.CodeInvalidSchedule:    statusUsage,
	intent.CodeScheduleNotFound:   statusUsage,

	intent.CodeUnauthenticated:          statusRefused,
	intent.CodeSystemPrincipal:          statusRefused,
	intent.CodeRiskExceeded:             statusRefused,
	intent.CodeConsentGateMissing:       statusRefused,
	intent.CodeConsentRequired:          statusRefused,
	intent.CodeEgressGateMissing:        statusRefused,
	intent.CodeEgressDenied:             statusRefused,
	intent.CodePolicyDenied:             statusRefused,
	intent.CodeGateError:                statusRefused,
	intent.CodeSpecDiverged:             statusRefused,
	intent.CodeDuplicateSuspected:       statusRefused,
	intent.CodeBudgetExceeded:           statusRefused,
	intent.CodeBudgetUncountable:        statusRefused,
	intent.CodeConfirmationExpired:      statusRefused,
	intent.CodeConfirmationDenied:       statusRefused,
	intent.CodeConfirmationInsufficient: statusRefused,
	intent.CodeSelfConfirmation:         statusRefused,
	intent.CodeNotPermitted:             statusRefused,
	intent.CodeRecordsExist:             statusRefused,
	intent.CodeRetryRefused:             statusRefused,
	intent.CodeDropped:                  statusRefused,
	intent.CodeTransactionUnusable:      statusRefused,

	intent.CodeFailed:               statusFailed,
	intent.CodeInDoubt:              statusInDoubt,
	intent.CodeContradicted:         statusInDoubt,
	intent.CodeConfirmationRequired: statusWaiting,
	intent.CodeIdempotencyConflict:  statusConflict,
	intent.CodeNotDispatched:        statusConflict,
	intent.CodeAlreadyDispatched:    statusConflict,
	intent.CodeTransactionConflict:  statusConflict,
	intent.CodeNotAwaiting:          statusConflict,
	intent.CodeAlreadyConfirmed:     statusConflict,
	intent.CodeCommitmentChanged:    statusConflict,
	intent.CodeNotInDoubt:           statusConflict,
	intent.CodeNotReissuable:        statusConflict,
	intent.CodeAlreadyEnded:         statusConflict,
	intent.CodeNoAlert:              statusConflict,
	intent.CodeScheduleExists:       statusConflict,
	intent.CodeCancelled:            statusCancelled,

	intent.CodeDatabaseUnavailable: statusInfrastructure,
	intent.CodeDatabaseRefused:     statusInfrastructure,
	intent.CodeDatabaseDenied:      statusInfrastructure,
	intent.CodeTemporalUnavailable: statusInfrastructure,
	intent.CodeTemporalRefused:     statusInfrastructure,
	intent.CodePayloadKeyMissing:   statusInfrastructure,
	intent.CodePayloadNotAuthentic: statusInfrastructure,
	intent.CodeMigrationRequired:   statusInfrastructure,
	intent.CodeNotYetKnown:         statusInfrastructure,
	intent.CodeOutboxRestored:      statusInfrastructure,
	intent.CodeInterrupted:         statusInfrastructure,
	intent.CodeMigrationFailed:     statusInfrastructure,
	intent.CodeOutputFailed:        statusInfrastructure,
	intent.CodeUnhealthy:           statusInfrastructure,
	intent.CodeUnexpected:          statusInfrastructure,
}

// statusOf returns the exit status of a command that ended with err.
func statusOf(err error) int {
	if err == nil {
		return statusCompleted
	}
	if status, ok := statuses[intent.CodeOf(err)]; ok {
		return status
	}
	return statusInfrastructure
}

// usage returns an error about the command line.
func usage(format string, args ...any) error {
	e := intent.Errorf(intent.CodeUsage, format, args...)
	e.Message += "; see --help"
	return e
}
