package outbox_test

import (
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"writ/intent"
	"writ/outbox"
)

func TestAnErrorOfTheDatabaseSaysWhetherTheStatementMayBeRepeated(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		err   error
		code  intent.Code
		again bool
	}{
		"a lost connection":       {errors.New("broken pipe"), intent.CodeDatabaseUnavailable, true},
		"a serialization failure": {&pgconn.PgError{Code: "40001"}, intent.CodeDatabaseUnavailable, true},
		"a standby":               {&pgconn.PgError{Code: "25006"}, intent.CodeDatabaseUnavailable, true},
		"too many connections":    {&pgconn.PgError{Code: "53300"}, intent.CodeDatabaseUnavailable, true},
		"a shutdown":              {&pgconn.PgError{Code: "57P01"}, intent.CodeDatabaseUnavailable, true},
		"a wrong password":        {&pgconn.PgError{Code: "28P01"}, intent.CodeDatabaseDenied, false},
		"no such database":        {&pgconn.PgError{Code: "3D000"}, intent.CodeDatabaseDenied, false},
		"no such table":           {&pgconn.PgError{Code: "42P01"}, intent.CodeMigrationRequired, false},
		"another intents table":   {&pgconn.PgError{Code: "42P08"}, intent.CodeMigrationRequired, false},
		"a value of another kind": {pgx.ScanArgError{FieldName: "created_at", Err: errors.New("cannot scan Infinity")}, intent.CodeDatabaseRefused, false},
		"a lost statement":        {&pgconn.PgError{Code: "26000"}, intent.CodeDatabaseRefused, false},
		"a broken constraint":     {&pgconn.PgError{Code: "23514"}, intent.CodeDatabaseRefused, false},
	} {
		var e *intent.Error
		if err := outbox.DatabaseError(tc.err); !errors.As(err, &e) || e.Code != tc.code || e.TryAgain != tc.again || !errors.Is(err, tc.err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if outbox.DatabaseError(nil) != nil {
		t.Error("no error has become one")
	}
}
