package outbox

import (
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgtype"
)

// effectRows are the rows of one statement of a tool. They do not lead to the connection, and
// the engine can close them while the tool still holds them.
type effectRows struct {
	tx      *EffectTx
	rows    pgx.Rows
	release func() // nil once they are closed
}

// close needs the transaction's lock.
func (r *effectRows) close() {
	r.rows.Close()
	if r.release == nil {
		return
	}
	r.release()
	r.release, r.tx.open = nil, nil
	r.tx.note(r.rows.Err())
}

func (r *effectRows) Close() {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	r.close()
}

func (r *effectRows) Next() bool {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	if !r.tx.over && r.rows.Next() {
		return true
	}
	r.close()
	return false
}

func (r *effectRows) Scan(dest ...any) error {
	if len(dest) == 1 {
		if scanner, ok := dest[0].(pgx.RowScanner); ok {
			return scanner.ScanRow(r) // and not pgx's own rows, which lead to the connection
		}
	}
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	if r.tx.over {
		return errEffectOver
	}
	return r.rows.Scan(dest...)
}

func (r *effectRows) Values() ([]any, error) {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	if r.tx.over {
		return nil, errEffectOver
	}
	return r.rows.Values()
}

func (r *effectRows) RawValues() [][]byte {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	return r.rows.RawValues()
}

func (r *effectRows) FieldDescriptions() []pgconn.FieldDescription {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	if r.tx.over {
		return nil // pgx keeps them with the connection
	}
	return r.rows.FieldDescriptions()
}

func (r *effectRows) CommandTag() pgconn.CommandTag {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	return r.rows.CommandTag()
}

func (r *effectRows) Err() error {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	return r.rows.Err()
}

// Conn returns nil: the connection is the engine's.
func (r *effectRows) Conn() *pgx.Conn { return nil }

// TypeMap says how values are read; it does not lead to the connection.
func (r *effectRows) TypeMap() *pgtype.Map { return r.rows.TypeMap() }

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
