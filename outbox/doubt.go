package outbox

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"
)

// DoubtFilter says which of the intents that somebody has to look at are listed; its zero value
// lists all.
type DoubtFilter struct {
	// Names are compared byte for byte.
	Tenant string `json:"tenant,omitempty"`
	Tool   string `json:"tool,omitempty"`
	// Limit is how many intents a page has at most, from 1 to MaxLimit. Default: DefaultLimit.
	Limit int `json:"-"`
	// After is the Next of an earlier page of the same filter; the limit may differ. Default:
	// the first page.
	After string `json:"-"`
}

// Check reports, without any I/O, what is wrong with the filter; the codes are those of
// [Filter.Check].
func (f DoubtFilter) Check() error {
	if err := (Filter{Tenant: f.Tenant, Tool: f.Tool, Limit: f.Limit}).Check(); err != nil {
		return err
	}
	_, err := f.position()
	return err
}

// Doubt returns a page of the intents that are in doubt or have an alert, oldest first, because
// those have waited longest. The errors are those of [DoubtFilter.Check] and of the database.
//
// Pages follow each other as those of [Store.List]: each intent that was there when the first
// one was read is on one of them, unless somebody has dealt with it meanwhile.
func (s *Store) Doubt(ctx context.Context, f DoubtFilter) (Page, error) {
	if err := f.Check(); err != nil {
		return Page{}, err
	}
	if f.Limit == 0 {
		f.Limit = DefaultLimit
	}
	after, err := f.position()
	if err != nil {
		return Page{}, err
	}
	query, args := doubtQuery(f, after)
	rows, err := s.pool.Query(ctx, query, args...)
	if err != nil {
		return Page{}, DatabaseError(err)
	}
	var page Page
	if page.Rows, err = collect(rows); err != nil || len(page.Rows) <= f.Limit {
		return page, DatabaseError(err)
	}
	page.Rows = page.Rows[:f.Limit]
	last := page.Rows[f.Limit-1]
	mark, err := f.mark()
	page.Next = cursor{createdAt: last.CreatedAt, id: last.ID}.text(mark)
	return page, err
}

// doubtQuery returns the statement of a page and one intent more, which says that there is a
// next page. What is in doubt and what has an alert are read from an index each, which holds
// the order; in one condition they would have none. intents_alert_created holds only what is
// asked for; of intents_open_created, which holds all open intents, those in doubt are picked:
// few others are open for long, unless a hold keeps them waiting, and then a page costs reading
// those as well.
func doubtQuery(f DoubtFilter, after *cursor) (query string, args []any) {
	args = []any{f.Limit + 1}
	var where strings.Builder
	add := func(condition string, values ...any) {
		places := make([]any, len(values))
		for i, v := range values {
			args = append(args, v)
			places[i] = len(args)
		}
		where.WriteString(" AND " + fmt.Sprintf(condition, places...))
	}
	if f.Tenant != "" {
		add("i.tenant = $%d", f.Tenant)
	}
	if f.Tool != "" {
		add("i.tool = $%d", f.Tool)
	}
	if after != nil {
		add("(i.created_at, i.id) > ($%d, $%d)", after.createdAt, after.id[:])
	}
	half := func(condition string) string {
		return `(SELECT i.id, i.created_at FROM intents i WHERE ` + condition + where.String() + ` ORDER BY i.created_at, i.id LIMIT $1)`
	}
	return `
		WITH page AS MATERIALIZED (
			SELECT id FROM (
				` + half(`i.ended_at IS NULL AND i.state = 'in_doubt'`) + `
				UNION
				` + half(`i.alert IS NOT NULL`) + `) i
			ORDER BY created_at, id LIMIT $1)
		SELECT` + intentColumns + `, writ_now(),` + attemptColumns + `
		FROM page JOIN intents i ON i.id = page.id LEFT JOIN attempts a ON a.intent_id = i.id
		ORDER BY i.created_at, i.id, a.number`, args
}

// position reads After; nil is the first page.
func (f DoubtFilter) position() (*cursor, error) {
	mark, err := f.mark()
	if err != nil || f.After == "" {
		return nil, err
	}
	c, err := readCursor(f.After, mark)
	return &c, err
}

// mark tells lists apart, those of [Filter] too.
func (f DoubtFilter) mark() (mark [markLength]byte, err error) {
	canonical, err := json.Marshal(f)
	if err != nil {
		return mark, fmt.Errorf("filter: %w", err)
	}
	sum := sha256.Sum256(append([]byte("doubt "), canonical...))
	copy(mark[:], sum[:])
	return mark, nil
}
