package documents

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/tools"
)

// Records keeps documents in a table of Writ's own database. It holds no connection: each
// method works in the transaction that it is given, so what it does is committed together
// with whatever else that transaction holds.
type Records struct {
	// Table is its name.
	Table string
}

// Delete deletes a document of the tenant and returns its title, or ErrNotFound.
func (r Records) Delete(ctx context.Context, tx tools.Tx, tenant, id string) (title string, err error) {
	statement := fmt.Sprintf(`DELETE FROM %s WHERE tenant = $1 AND id = $2 RETURNING title`, pgx.Identifier{r.Table}.Sanitize())
	err = tx.QueryRow(ctx, statement, tenant, id).Scan(&title)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", ErrNotFound
	}
	return title, err
}

// NewPurge returns the tool records.purge over the records. It needs no key and no window:
// the deletion and the receipt are one commit.
func NewPurge(records Records) tools.Tool {
	spec := tools.Spec{
		Name: "records.purge", Description: "Delete a document that is kept here: document_id.",
		Retryable: true, Timeout: 10 * time.Second, InputSchema: payload,
	}
	return tools.NewTransactional(spec, func(ctx context.Context, tx tools.Tx, inv tools.Invocation) (tools.Result, error) {
		var asked struct {
			DocumentID string `json:"document_id"`
		}
		if err := inv.Decode(&asked); err != nil {
			return tools.Result{}, tools.NotApplied(err).AsFinal()
		}
		title, err := records.Delete(ctx, tx, inv.Context().Tenant, asked.DocumentID)
		if errors.Is(err, ErrNotFound) {
			return tools.Result{}, tools.NotApplied(err).WithCode("document_not_found").AsFinal()
		}
		if err != nil {
			return tools.Result{}, err // rolled back, and tried again
		}
		return tools.JSON(map[string]string{"document_id": asked.DocumentID, "title": title})
	})
}
