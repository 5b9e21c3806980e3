package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// readAsAuthorized returns the payload of the locked row, and whether the row with it is still what
// its commitment is over: what was authorized, and what people confirmed. The database refuses to
// change that; whoever may switch its triggers off can.
func readAsAuthorized(ctx context.Context, tx pgx.Tx, row Row) (body []byte, same bool, err error) {
	if body, err = payload(ctx, tx, row.ID); err != nil {
		return nil, false, err
	}
	authorized := row.Authorized()
	authorized.Fingerprint = intent.Fingerprint(row.Salt, intent.Action{Tenant: row.Tenant, Principal: row.Principal, Tool: row.Tool, Payload: body})
	return body, intent.Commitment(authorized) == row.Commitment, nil
}

// notAltered is the error of a row that is not what was authorized, with code intent_altered.
func notAltered(ctx context.Context, tx pgx.Tx, row Row) error {
	_, same, err := readAsAuthorized(ctx, tx, row)
	if err == nil && !same {
		err = intent.Errorf(intent.CodeIntentAltered,
			"somebody changed intent %s in the database, so that it is not what was authorized; nothing was recorded, and nothing will be sent; deny it if it waits, and ask with a new key if it is still wanted", row.ID)
	}
	return err
}
