package outbox

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Submitted is an enqueued request that is no intent yet.
type Submitted struct {
	ID          intent.ID
	Tenant      string
	RequestKey  intent.RequestKey
	Principal   string
	Tool        string
	Traceparent string
	CreatedAt   time.Time
	// NotBefore is the host's; zero: it gave none.
	NotBefore time.Time
	// DueAt is when it is tried next; zero: it is parked, or dropped.
	DueAt time.Time
	// Tries is how often it was tried since it was enqueued, or since a person had it tried again.
	Tries int
	// ErrorCode and Error are what the last try said; empty if nothing went wrong.
	ErrorCode intent.Code
	Error     string
	// ParkedAt is since when it waits for a person, and DroppedAt when one took it back.
	ParkedAt, DroppedAt time.Time
	// Decider is who last had it tried again or dropped it; zero: nobody.
	Decider   Decider
	DecidedAt time.Time
	// Restored says that PostgreSQL may have lost commits and that no operator has said so yet.
	Restored bool
}

// MayHaveRun reports whether the request may have been an intent, and sent, in what PostgreSQL has
// lost, and nobody has said since that it runs.
func (s Submitted) MayHaveRun() bool {
	return s.Restored && s.DroppedAt.IsZero() || !s.ParkedAt.IsZero() && s.ErrorCode == intent.CodeOutboxRestored
}

const submittedColumns = `
	e.id, e.tenant, e.request_key, e.principal, e.tool, e.traceparent, e.created_at, e.not_before, e.due_at, e.tries,
	e.error_code, e.error, e.parked_at, e.dropped_at, e.decided_at, ` + restoredUntil + ` IS NOT NULL,
	e.decided_by, e.note, nullif(e.decider_roles, '{}'), nullif(e.decider_on_behalf_of, '{}'), e.decider_authentication_source`

// scanSubmitted reads submittedColumns, and into what follows them.
func scanSubmitted(row pgx.Row, more ...any) (Submitted, error) {
	var s Submitted
	var notBefore, due, parked, dropped, decided *time.Time
	columns := []any{(*[16]byte)(&s.ID), &s.Tenant, &s.RequestKey, &s.Principal, &s.Tool, &s.Traceparent, &s.CreatedAt, &notBefore, &due, &s.Tries,
		&s.ErrorCode, &s.Error, &parked, &dropped, &decided, &s.Restored}
	err := row.Scan(slices.Concat(columns, s.Decider.fields(), more)...)
	s.CreatedAt, s.NotBefore, s.DueAt = s.CreatedAt.UTC(), value(notBefore).UTC(), value(due).UTC()
	s.ParkedAt, s.DroppedAt, s.DecidedAt = value(parked).UTC(), value(dropped).UTC(), value(decided).UTC()
	return s, err
}

// Step is what happens with the request next.
func (s Submitted) Step() intent.Step {
	switch {
	case !s.DroppedAt.IsZero():
		return intent.Step{Kind: intent.Stop, Reason: intent.ReasonDropped}
	case !s.ParkedAt.IsZero():
		return intent.Step{Kind: intent.Stop, Reason: intent.ReasonParked}
	}
	if s.Restored {
		return intent.Step{Kind: intent.Wait, At: s.DueAt, Reason: intent.ReasonRestored}
	}
	return intent.Step{Kind: intent.Wait, At: s.DueAt, Reason: intent.ReasonEnqueued}
}

// Undecidable is the error of a person's decision on a request that is no intent yet.
func (s Submitted) Undecidable() error {
	switch {
	case !s.DroppedAt.IsZero():
		r := reservation{decidedBy: s.Decider.Principal, droppedAt: &s.DroppedAt, mayHaveRun: s.MayHaveRun()}
		return r.dropped(s.RequestKey)
	case s.Restored:
		return errRestored(s.ID)
	case s.MayHaveRun():
		return errMayHaveRun(s.ID)
	case !s.ParkedAt.IsZero():
		return intent.Errorf(intent.CodeNotDispatched,
			"the request of intent %s is parked (%s), and nothing was sent; `writ enqueued retry %s` has it tried again, `writ enqueued drop %s` takes it back", s.ID, s.ErrorCode, s.ID, s.ID)
	}
	return intent.Errorf(intent.CodeNotDispatched,
		"the request of intent %s is enqueued and due at %s, and nothing was sent; decide on it once it is an intent, or take it back with `writ enqueued drop %s`", s.ID, s.DueAt.Format(time.RFC3339), s.ID)
}

// Submitted returns the enqueued request of the id that is no intent, with its payload, or an
// error with code intent_not_found.
func (s *Store) Submitted(ctx context.Context, id intent.ID) (Submitted, []byte, error) {
	found, payload, err := submitted(ctx, s.pool, id)
	return found, payload, DatabaseError(err)
}

func submitted(ctx context.Context, q querier, id intent.ID) (Submitted, []byte, error) {
	const query = `
		SELECT` + submittedColumns + `, e.payload
		FROM enqueued e WHERE e.id = $1 AND NOT EXISTS (SELECT FROM intents i WHERE i.id = e.id)`
	var payload []byte
	found, err := scanSubmitted(q.QueryRow(ctx, query, id[:]), &payload)
	if errors.Is(err, pgx.ErrNoRows) {
		return Submitted{}, nil, intent.Errorf(intent.CodeIntentNotFound, "there is no intent %s", id)
	}
	return found, payload, err
}

// noIntent is the error of an id that no intent has.
func noIntent(ctx context.Context, q querier, id intent.ID) error {
	found, _, err := submitted(ctx, q, id)
	if err != nil {
		return err
	}
	return found.Undecidable()
}

// SubmittedPage is a part of a list of enqueued requests.
type SubmittedPage struct {
	// Rows are the requests, newest first.
	Rows []Submitted
	// Next is the After of the next page; empty if this is the last one.
	Next string
}

// ListSubmitted is [Store.List] for enqueued requests: those that are due or will be, and those
// that are parked, but none that was dropped. The filter's state is intent.Submitted.
func (s *Store) ListSubmitted(ctx context.Context, f Filter) (SubmittedPage, error) {
	if err := f.Check(); err != nil {
		return SubmittedPage{}, err
	}
	if !f.ListsSubmitted() {
		return SubmittedPage{}, intent.Errorf(intent.CodeInvalidFilter, "enqueued requests are listed with state %s", intent.Submitted)
	}
	if f.Limit == 0 {
		f.Limit = DefaultLimit
	}
	page, err := s.listSubmitted(ctx, f)
	return page, DatabaseError(err)
}

func (s *Store) listSubmitted(ctx context.Context, f Filter) (SubmittedPage, error) {
	span, err := s.span(ctx, f)
	if err != nil {
		return SubmittedPage{}, err
	}
	query, args := submittedQuery(f, span)
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return SubmittedPage{}, err
	}
	var page SubmittedPage
	page.Rows, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (Submitted, error) { return scanSubmitted(row) })
	if err != nil || len(page.Rows) <= f.Limit {
		return page, err
	}
	page.Rows = page.Rows[:f.Limit]
	last := page.Rows[f.Limit-1]
	page.Next, err = f.cursor(cursor{since: span.since, createdAt: last.CreatedAt, id: last.ID})
	return page, err
}

// submittedQuery returns the statement of a page and one request more. A request that is parked
// is listed also if another action has become the intent of its key.
func submittedQuery(f Filter, sp span) (query string, args []any) {
	c := f.conditions("e", sp)
	if f.Parked {
		c.add("e.parked_at IS NOT NULL")
	} else {
		c.add("(e.parked_at IS NOT NULL OR NOT EXISTS (SELECT FROM intents i WHERE i.id = e.id))")
	}
	limit := c.place(f.Limit + 1)
	return `
		SELECT` + submittedColumns + `
		FROM enqueued e WHERE e.dropped_at IS NULL` + c.where.String() + `
		ORDER BY e.created_at DESC, e.id DESC LIMIT ` + limit, c.args
}
