package main

import (
	"writ/intent"
)

// The exit statuses. 6 (waiting for confirmation) and 8 (cancelled) are kept free for
// intents that wait for a person.
const (
	statusCompleted      = 0
	statusInfrastructure = 1
	statusUsage          = 2
	statusRefused        = 3
	statusFailed         = 4
	statusInDoubt        = 5
	statusConflict       = 7
)

// The codes of failures that only the command line has.
const (
	// codeUsage: the command line is not understood.
	codeUsage intent.Code = "usage"
	// codePayloadUnreadable: the file or stream of the payload cannot be read.
	codePayloadUnreadable intent.Code = "payload_unreadable"
	// codeInterrupted: the user stopped the command before anything was asked for.
	codeInterrupted intent.Code = "interrupted"
	// codeMigrationFailed: the database did not take a migration.
	codeMigrationFailed intent.Code = "migration_failed"
	// codeOutputFailed: the answer could not be written.
	codeOutputFailed intent.Code = "output_failed"
	// codeUnexpected: a failure that nobody gave a code, which is a defect.
	codeUnexpected intent.Code = "unexpected"
)

// statuses gives every code its exit status.
var statuses = map[intent.Code]int{
	codeUsage:                     statusUsage,
	codePayloadUnreadable:         statusUsage,
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
	intent.CodeInvalidRequestKey:  statusUsage,
	intent.CodeReservedRequestKey: statusUsage,
	intent.CodeInvalidPayload:     statusUsage,
	intent.CodeInvalidSpec:        statusUsage,
	intent.CodeUnknownTool:        statusUsage,
	intent.CodeIntentIDMismatch:   statusUsage,
	intent.CodeIntentNotFound:     statusUsage,
	intent.CodeReceiptNotFound:    statusUsage,
	intent.CodeInvalidConfig:      statusUsage,

	intent.CodeUnauthenticated: statusRefused,
	intent.CodePolicyDenied:    statusRefused,
	intent.CodeGateError:       statusRefused,
	intent.CodeSpecDiverged:    statusRefused,
	intent.CodeRecordsExist:    statusRefused,

	intent.CodeFailed:              statusFailed,
	intent.CodeInDoubt:             statusInDoubt,
	intent.CodeIdempotencyConflict: statusConflict,

	intent.CodeDatabaseUnavailable: statusInfrastructure,
	intent.CodeDatabaseRefused:     statusInfrastructure,
	intent.CodeTemporalUnavailable: statusInfrastructure,
	intent.CodeMigrationRequired:   statusInfrastructure,
	intent.CodeNotYetKnown:         statusInfrastructure,
	codeInterrupted:                statusInfrastructure,
	codeMigrationFailed:            statusInfrastructure,
	codeOutputFailed:               statusInfrastructure,
	codeUnexpected:                 statusInfrastructure,
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
	e := intent.Errorf(codeUsage, format, args...)
	e.Message += "; see --help"
	return e
}
