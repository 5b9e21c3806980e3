package stack

import (
	"errors"
	"fmt"

	"writ/internal/loopback"
)

// The codes of [Error]; the package comment says when each is returned.
const (
	CodePortInUse              = "port_in_use"
	CodeDataDirInUse           = "data_dir_in_use"
	CodeDataDirUnusable        = "data_dir_unusable"
	CodeDatabaseURLUnsupported = "database_url_unsupported"
	CodeDatabaseCreateDenied   = "database_create_denied"
	CodeProviderMissing        = "provider_missing"
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
