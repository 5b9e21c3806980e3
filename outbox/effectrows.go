package outbox

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// effectRows are the rows of one statement of a tool. They do not lead to the connection, and
// the engine can close them while the tool still holds them. Like pgx's they are for one
// goroutine at a time.
type effectRows struct {
	tx   *EffectTx
	rows pgx.Rows
	// types is a copy: what a tool registers there is not there for those who use the
	// connection after it.
	types   *pgtype.Map
	failed  error  // of a Scan
	release func() // nil once they are closed
}

// with uses the connection's rows in the tool's turn, and does nothing when the tool has none
// any more.
func (r *effectRows) with(use func()) error {
	if err := r.tx.take(context.Background()); err != nil {
		return err
	}
	defer r.tx.leave()
	use()
	return nil
}

// close needs the turn.
func (r *effectRows) close() {
	r.rows.Close()
	if r.release == nil {
		return
	}
	r.release()
	r.release, r.tx.open = nil, nil
	r.tx.note(r.rows.Err())
}

func (r *effectRows) Close() { _ = r.with(r.close) }

func (r *effectRows) Next() (next bool) {
	_ = r.with(func() {
		if next = r.rows.Next(); !next {
			r.close()
		}
	})
	return next
}

// Scan reads the row from a copy: the destinations are the tool's own code, and may take any
// time, or use the transaction.
func (r *effectRows) Scan(dest ...any) (err error) {
	if len(dest) == 1 {
		if scanner, ok := dest[0].(pgx.RowScanner); ok {
			return r.fail(scanner.ScanRow(r)) // and not pgx's own rows, which lead to the connection
		}
	}
	var fields []pgconn.FieldDescription
	var values [][]byte
	if err := r.with(func() { fields, values = r.fields(), r.values() }); err != nil {
		return err
	}
	return r.fail(pgx.ScanRow(r.types, fields, values, dest...))
}

// fail closes the rows of which one could not be read, as pgx does.
func (r *effectRows) fail(err error) error {
	if err != nil {
		_ = r.with(func() { r.close(); r.failed = err })
	}
	return err
}

// fields and values are copies of what pgx keeps with the connection. They need the turn.
func (r *effectRows) fields() []pgconn.FieldDescription {
	return slices.Clone(r.rows.FieldDescriptions())
}

func (r *effectRows) values() [][]byte {
	values := slices.Clone(r.rows.RawValues())
	for i := range values {
		values[i] = bytes.Clone(values[i])
	}
	return values
}

func (r *effectRows) Values() (values []any, err error) {
	if over := r.with(func() { values, err = r.rows.Values() }); over != nil {
		return nil, over
	}
	return values, err
}

func (r *effectRows) RawValues() (values [][]byte) {
	_ = r.with(func() { values = r.values() })
	return values
}

func (r *effectRows) FieldDescriptions() (fields []pgconn.FieldDescription) {
	_ = r.with(func() { fields = r.fields() })
	return fields
}

func (r *effectRows) CommandTag() (tag pgconn.CommandTag) {
	_ = r.with(func() { tag = r.rows.CommandTag() })
	return tag
}

func (r *effectRows) Err() (err error) {
	over := r.with(func() {
		if err = r.failed; err == nil {
			err = r.rows.Err()
		}
	})
	return cmp.Or(over, err)
}

// Conn returns nil: the connection is the engine's.
func (r *effectRows) Conn() *pgx.Conn { return nil }

// TypeMap says how values are read; it does not lead to the connection.
func (r *effectRows) TypeMap() *pgtype.Map { return r.types }

// effectRow is the first of some rows.
type effectRow struct{ rows pgx.Rows }

// Scan reads the row and closes the rest. Like pgx's it refuses what would point into a
// buffer that is used again.
func (r effectRow) Scan(dest ...any) error {
	defer r.rows.Close()
	if err := r.rows.Err(); err != nil {
		return err
	}
	for _, d := range dest {
		if _, borrowed := d.(*pgtype.DriverBytes); borrowed {
			return errors.New("a row cannot be scanned into bytes of the driver")
		}
	}
	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

// failedRows are those of a statement that was not run.
type failedRows struct{ err error }

func (r failedRows) Close()                                       {}
func (r failedRows) Next() bool                                   { return false }
func (r failedRows) Scan(...any) error                            { return r.err }
func (r failedRows) Values() ([]any, error)                       { return nil, r.err }
func (r failedRows) RawValues() [][]byte                          { return nil }
func (r failedRows) FieldDescriptions() []pgconn.FieldDescription { return nil }
func (r failedRows) CommandTag() pgconn.CommandTag                { return pgconn.CommandTag{} }
func (r failedRows) Err() error                                   { return r.err }
func (r failedRows) Conn() *pgx.Conn                              { return nil }
func (r failedRows) TypeMap() *pgtype.Map                         { return nil }
