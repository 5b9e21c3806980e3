package outbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"writ/intent"
)

// How many intents a page has: if the filter does not say, and at most.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Filter says which intents are listed. The zero value lists all of them; every member that
// is set narrows the list.
type Filter struct {
	// Names are compared byte for byte. A request key is unique in its tenant; without the
	// tenant it is looked for in the whole list.
	Tenant     string            `json:"tenant,omitempty"`
	Tool       string            `json:"tool,omitempty"`
	Principal  string            `json:"principal,omitempty"`
	RequestKey intent.RequestKey `json:"request_key,omitempty"`
	// States are the states that an intent may be in when the page is read. intent.Submitted
	// stands by itself: enqueued requests are no intents yet, and no other list has them.
	States []intent.State `json:"states,omitempty"`
	Class  intent.Class   `json:"class,omitempty"`
	// Since and Until bound the creation: not before Since, and before Until.
	Since Bound `json:"since,omitzero"`
	Until Bound `json:"until,omitzero"`
	// Parked lists only enqueued requests that wait for a person; only with intent.Submitted.
	Parked bool `json:"parked,omitempty"`
	// SuspectedDuplicates lists only intents that seem to repeat an earlier one.
	SuspectedDuplicates bool `json:"suspected_duplicates,omitempty"`
	// Limit is how many intents a page has at most, from 1 to MaxLimit. Default:
	// DefaultLimit.
	Limit int `json:"-"`
	// After is the Next of an earlier page of the same filter; the limit may differ.
	// Default: the first page.
	After string `json:"-"`
}

// Bound is one end of a span of time: a time, or a duration before the database's now. The
// zero value bounds nothing.
type Bound struct {
	// At is kept to the microsecond, as PostgreSQL keeps times.
	At time.Time
	// Ago counts if At is zero.
	Ago time.Duration
}

// IsZero reports whether b bounds nothing.
func (b Bound) IsZero() bool { return b.At.IsZero() && b.Ago == 0 }

// relative reports whether the database's clock says when b is.
func (b Bound) relative() bool { return b.At.IsZero() && b.Ago != 0 }

// UnmarshalText reads a time of RFC 3339 or a positive duration of package time, as
// 2026-03-01T12:00:00Z or 36h. The error has code invalid_filter.
func (b *Bound) UnmarshalText(text []byte) error {
	if ago, err := time.ParseDuration(string(text)); err == nil && ago > 0 {
		*b = Bound{Ago: ago}
		return nil
	}
	at, err := time.Parse(time.RFC3339, string(text))
	if err != nil {
		return intent.Errorf(intent.CodeInvalidFilter,
			"%.40q is no moment; give a time as 2026-03-01T12:00:00Z, or how long ago as 36h or 15m", text)
	}
	*b = Bound{At: at}
	return nil
}

// MarshalText writes what UnmarshalText reads, or nothing for no bound.
func (b Bound) MarshalText() ([]byte, error) {
	switch {
	case !b.At.IsZero():
		return []byte(b.At.UTC().Format(time.RFC3339Nano)), nil
	case b.Ago != 0:
		return []byte(b.Ago.String()), nil
	}
	return nil, nil
}

// before reports whether b is surely earlier than c, whatever the database's clock says.
func (b Bound) before(c Bound) bool {
	switch {
	case b.IsZero() || c.IsZero():
		return true
	case b.relative() && c.relative():
		return b.Ago > c.Ago
	case !b.relative() && !c.relative():
		return b.At.Before(c.At)
	}
	return true // only the database can tell; a span that ends before it begins lists nothing
}

// storable reports whether t is in the years of RFC 3339, all of which PostgreSQL has too.
func storable(t time.Time) bool { return 0 <= t.UTC().Year() && t.UTC().Year() <= 9999 }

func (b Bound) check(what string) error {
	if b.Ago < 0 || !storable(b.At) {
		return intent.Errorf(intent.CodeInvalidFilter, "%s is no moment; give a time of the years 0 to 9999, or a positive duration before now", what)
	}
	return nil
}

// Check reports, without any I/O, what is wrong with the filter: a name that breaks the
// grammar (invalid_name, invalid_request_key), a cursor of another list (invalid_cursor), or
// anything else (invalid_filter).
func (f Filter) Check() error {
	for _, name := range []struct{ what, value string }{{"tenant", f.Tenant}, {"tool", f.Tool}, {"principal", f.Principal}} {
		if err := intent.CheckOptionalName(name.what, name.value); err != nil {
			return err
		}
	}
	if f.RequestKey != "" {
		if err := intent.CheckRequestKey(string(f.RequestKey)); err != nil {
			return err
		}
	}
	if err := f.checkSubmitted(); err != nil {
		return err
	}
	for _, s := range f.States {
		if s == intent.Submitted {
			continue
		}
		if !slices.Contains(intent.States(), s) {
			return unknownWord("state", s, intent.States())
		}
	}
	if f.Class != "" && !slices.Contains(intent.Classes(), f.Class) {
		return unknownWord("class", f.Class, intent.Classes())
	}
	if f.Limit < 0 || f.Limit > MaxLimit {
		return intent.Errorf(intent.CodeInvalidFilter, "a page has 1 to %d intents, not %d", MaxLimit, f.Limit)
	}
	if err := cmp.Or(f.Since.check("since"), f.Until.check("until")); err != nil {
		return err
	}
	if !f.Since.before(f.Until) {
		return intent.Errorf(intent.CodeInvalidFilter, "since is not before until, so nothing can be listed; exchange them")
	}
	if f.After != "" {
		_, err := f.position()
		return err
	}
	return nil
}

// ListsSubmitted reports whether enqueued requests are listed, see [Store.ListSubmitted].
func (f Filter) ListsSubmitted() bool { return slices.Contains(f.States, intent.Submitted) }

// checkSubmitted refuses what nobody knows of a request that is no intent yet.
func (f Filter) checkSubmitted() error {
	if !f.ListsSubmitted() {
		if f.Parked {
			return intent.Errorf(intent.CodeInvalidFilter, "only enqueued requests are parked; list them with state %s", intent.Submitted)
		}
		return nil
	}
	if slices.ContainsFunc(f.States, func(s intent.State) bool { return s != intent.Submitted }) {
		return intent.Errorf(intent.CodeInvalidFilter, "state %s is no intent's yet; list it by itself", intent.Submitted)
	}
	if f.Class != "" || f.SuspectedDuplicates {
		return intent.Errorf(intent.CodeInvalidFilter, "class and repeats of a request are not known while it is %s; leave them out", intent.Submitted)
	}
	return nil
}

func unknownWord[T ~string](what string, word T, known []T) error {
	words := make([]string, len(known))
	for i, k := range known {
		words[i] = string(k)
	}
	return intent.Errorf(intent.CodeInvalidFilter, "there is no %s %.40q; it is one of %s", what, word, strings.Join(words, ", "))
}

// mark tells lists apart: two filters have the same one if they list the same intents.
func (f Filter) mark() (mark [markLength]byte, err error) {
	f.States = slices.Compact(slices.Sorted(slices.Values(f.States)))
	canonical, err := json.Marshal(f)
	if err != nil {
		return mark, fmt.Errorf("filter: %w", err)
	}
	sum := sha256.Sum256(canonical)
	copy(mark[:], sum[:])
	return mark, nil
}
