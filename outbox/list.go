package outbox

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Page is a part of a list.
type Page struct {
	// Rows are the intents, newest first.
	Rows []Row
	// Next is the After of the next page; empty if this is the last one.
	Next string
}

// List returns a page of the intents that the filter lists, newest first. The errors are
// those of [Filter.Check] and of the database.
//
// A page begins behind the last intent of the one before, by creation and id, which never
// change. So following pages give every intent that was there when the first one was read
// exactly once, however many are added meanwhile, unless its state leaves the filter. An
// intent that is added meanwhile is on later pages only if its creation lies there.
func (s *Store) List(ctx context.Context, f Filter) (Page, error) {
	if err := f.Check(); err != nil {
		return Page{}, err
	}
	if f.ListsSubmitted() {
		return Page{}, intent.Errorf(intent.CodeInvalidFilter, "what is %s is no intent; list it as enqueued requests", intent.Submitted)
	}
	if f.Limit == 0 {
		f.Limit = DefaultLimit
	}
	page, err := s.list(ctx, f)
	return page, DatabaseError(err)
}

func (s *Store) list(ctx context.Context, f Filter) (Page, error) {
	span, err := s.span(ctx, f)
	if err != nil {
		return Page{}, err
	}
	query, args := listQuery(f, span)
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return Page{}, err
	}
	var page Page
	if page.Rows, err = collect(rows); err != nil || len(page.Rows) <= f.Limit {
		return page, err
	}
	page.Rows = page.Rows[:f.Limit]
	last := page.Rows[f.Limit-1]
	page.Next, err = f.cursor(cursor{since: span.since, createdAt: last.CreatedAt, id: last.ID})
	return page, err
}

// span is the part of all intents that a page is cut from. Zero values bound nothing.
type span struct {
	since, until time.Time
	// after is the last intent of the page before; nil for the first page.
	after *cursor
}

// span resolves the filter's bounds, for the first page by the database's clock.
func (s *Store) span(ctx context.Context, f Filter) (span, error) {
	if f.After != "" {
		after, err := f.position()
		return span{since: after.since, after: &after}, err // which is before until
	}
	sp := span{since: f.Since.At, until: f.Until.At}
	if !f.Since.relative() && !f.Until.relative() {
		return sp, nil
	}
	now, err := s.Now(ctx)
	if err != nil {
		return sp, err
	}
	if f.Since.relative() {
		sp.since = now.Add(-f.Since.Ago)
	}
	if f.Until.relative() {
		sp.until = now.Add(-f.Until.Ago)
	}
	return sp, nil
}

// listQuery returns the statement of a page and one intent more, which says that there is a
// next page. Only the conditions that are set stand in it, so that each combination gets a
// plan of its own: an index that holds the order, and the rest as a filter on it.
func listQuery(f Filter, sp span) (query string, args []any) {
	c := f.conditions("i", sp)
	if f.Class != "" {
		c.add("i.class = $%d", string(f.Class))
	}
	if len(f.States) > 0 {
		states, open := stateNames(f.States)
		c.add("i.state = ANY ($%d)", states)
		if open {
			c.add("i.ended_at IS NULL") // says to the planner that intents_open_created holds them all
		}
	}
	if f.SuspectedDuplicates {
		c.add("i.suspected_duplicate_of IS NOT NULL")
	}
	limit := c.place(f.Limit + 1)
	return `
		WITH page AS MATERIALIZED (
			SELECT i.id FROM intents i
			WHERE true` + c.where.String() + `
			ORDER BY i.created_at DESC, i.id DESC LIMIT ` + limit + `)
		SELECT` + intentColumns + `, writ_now(),` + attemptColumns + `
		FROM page JOIN intents i ON i.id = page.id LEFT JOIN attempts a ON a.intent_id = i.id
		ORDER BY i.created_at DESC, i.id DESC, a.number`, c.args
}

// conditions are those of a statement that lists, each behind an AND, and their values.
type conditions struct {
	where strings.Builder
	args  []any
}

// place returns the place of a value.
func (c *conditions) place(value any) string {
	c.args = append(c.args, value)
	return fmt.Sprintf("$%d", len(c.args))
}

// add adds a condition, in which each %d is the number of a value's place.
func (c *conditions) add(condition string, values ...any) {
	places := make([]any, len(values))
	for i, v := range values {
		c.args = append(c.args, v)
		places[i] = len(c.args)
	}
	c.where.WriteString("\n\t\t\tAND " + fmt.Sprintf(condition, places...))
}

// conditions are those of the filter that intents and enqueued requests have in common, on the
// table of that alias.
func (f Filter) conditions(table string, sp span) *conditions {
	var c conditions
	for _, name := range []struct{ column, value string }{
		{"tenant", f.Tenant}, {"tool", f.Tool}, {"principal", f.Principal}, {"request_key", string(f.RequestKey)},
	} {
		if name.value != "" {
			c.add(table+"."+name.column+" = $%d", name.value)
		}
	}
	if !sp.since.IsZero() {
		c.add(table+".created_at >= $%d", sp.since)
	}
	if !sp.until.IsZero() {
		c.add(table+".created_at < $%d", sp.until)
	}
	if sp.after != nil {
		c.add("("+table+".created_at, "+table+".id) < ($%d, $%d)", sp.after.createdAt, sp.after.id[:])
	}
	return &c
}

// stateNames returns the states as PostgreSQL has them, and whether none of them is an end.
func stateNames(states []intent.State) (names []string, open bool) {
	open = true
	for _, s := range states {
		names = append(names, string(s))
		open = open && !s.Ended()
	}
	return names, open
}

// collect reads joined rows, of which those of one intent follow each other.
func collect(rows pgx.Rows) ([]Row, error) {
	defer rows.Close()
	var list []Row
	for rows.Next() {
		var r Row
		if err := scan(rows, &r); err != nil {
			return nil, err
		}
		if last := len(list) - 1; last >= 0 && list[last].ID == r.ID {
			list[last].Attempts = append(list[last].Attempts, r.Attempts...)
		} else {
			list = append(list, r)
		}
	}
	return list, rows.Err()
}
