package stack

import (
	"errors"
	"fmt"

	"writ/internal/loopback"
	"writ/internal/sandbox"
)

// The codes of [Error]; the package comment says when each is returned.
const (
	CodePortInUse              = "port_in_use"
	CodeDataDirInUse           = "data_dir_in_use"
	CodeDataDirUnusable        = "data_dir_unusable"
	CodeDatabaseURLUnsupported = "database_url_unsupported"
	CodeDatabaseCreateDenied   = "database_create_denied"
	CodeProviderMissing        = "provider_missing"
	CodeLedgerInUse            = "ledger_in_use"
	CodeLedgerCorrupt          = "ledger_corrupt"
	CodeLedgerNotWritable      = "ledger_not_writable"
)

// Error is a failure that a person can do something about. Its text says what.
type Error struct {
	code    string
	message string
	cause   error
}

func (e *Error) Error() string { return e.message }

// Unwrap returns the error underneath, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Code returns the stable name of the failure.
func (e *Error) Code() string { return e.code }

// portError adds to an error about a taken port whose port it is and how to
// choose another. Other errors pass unchanged.
func portError(err error, owner, flag string) error {
	var busy *loopback.PortError
	if !errors.As(err, &busy) {
		return err
	}
	return &Error{
		code: CodePortInUse,
		message: fmt.Sprintf("port %d for %s is taken by another process: stop it, or choose another port with %s (0 takes a free one)",
			busy.Port, owner, flag),
		cause: err,
	}
}

// ledgerError says why the sandbox provider did not start on the ledger at path.
func ledgerError(err error, path string) *Error {
	switch {
	case errors.Is(err, sandbox.ErrLedgerInUse):
		return &Error{
			code:    CodeLedgerInUse,
			message: fmt.Sprintf("another provider uses %s: stop it, or choose another folder with --data-dir", path),
			cause:   err,
		}
	case errors.Is(err, sandbox.ErrLedgerCorrupt):
		return &Error{
			code:    CodeLedgerCorrupt,
			message: fmt.Sprintf("the provider's books cannot be read (%v): restore the file, or choose another folder with --data-dir", err),
			cause:   err,
		}
	default:
		return &Error{
			code:    CodeLedgerNotWritable,
			message: fmt.Sprintf("the provider's books cannot be kept (%v): make the file writable, or choose another folder with --data-dir", err),
			cause:   err,
		}
	}
}
