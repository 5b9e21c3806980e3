package postgres

// Code names a failure for programs. Codes are stable.
type Code string

// The codes of [Error]; the package comment says when each is returned.
const (
	CodeNotFound           Code = "postgres_not_found"
	CodeVersionMismatch    Code = "postgres_version_mismatch"
	CodeStartFailed        Code = "postgres_start_failed"
	CodeDataDirInUse       Code = "data_dir_in_use"
	CodeDataDirUnreachable Code = "data_dir_unreachable"
	CodeNoUnprivilegedUser Code = "no_unprivileged_user"
)

// Error is a failure that a person can do something about. Its text says what.
type Error struct {
	code    Code
	message string
	cause   error
}

func (e *Error) Error() string { return e.message }

// Unwrap returns the error underneath, or nil.
func (e *Error) Unwrap() error { return e.cause }

// Code returns the stable name of the failure.
func (e *Error) Code() string { return string(e.code) }
