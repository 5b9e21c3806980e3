package writ

import (
	"cmp"
	"context"
	"errors"
	"time"
	"unicode"
	"unicode/utf8"

	"writ/activities"
	"writ/intent"
	"writ/internal/killpoint"
	"writ/outbox"
	"writ/workflows"
)

// Decider is the person who decides about an intent. The policies that it was decided on may rule
// who may: the error of every call that takes a Decider and an intent may have code not_permitted,
// and then nothing is recorded.
type Decider struct {
	// Principal is who decides, in the grammar of names. Required.
	Principal string
	// Note says why, for whoever reads the receipt: at most 1,000 bytes of text without
	// control characters. Optional.
	Note string
	// Roles and OnBehalfOf are as what the principal decides, and for whom it acts, with the
	// meaning and the limits of those of Request. Optional.
	Roles      []string
	OnBehalfOf []string
	// AuthenticationSource is who vouches for all this. Default, and the only source so far:
	// "direct", which is stated and not proven.
	AuthenticationSource string
}

// Standing is as what and for whom somebody decided, and who vouches for that. It is empty where
// that was not said, and where it was not recorded yet.
type Standing struct {
	AuthenticationSource string   `json:"authentication_source,omitempty"`
	Roles                []string `json:"roles,omitempty"`
	OnBehalfOf           []string `json:"on_behalf_of,omitempty"`
}

// IsZero reports whether nothing was said.
func (s Standing) IsZero() bool {
	return s.AuthenticationSource == "" && len(s.Roles) == 0 && len(s.OnBehalfOf) == 0
}

func standingOf(d outbox.Decider) Standing {
	return Standing{AuthenticationSource: d.AuthenticationSource, Roles: d.Roles, OnBehalfOf: d.OnBehalfOf}
}

// Decision is what a person decided about an intent.
type Decision struct {
	Kind      intent.DecisionKind `json:"kind"`
	Principal string              `json:"principal"`
	Note      string              `json:"note,omitempty"`
	Standing
	// Generation is the one that was decided on.
	Generation int       `json:"generation"`
	DecidedAt  time.Time `json:"decided_at"`
}

// Confirm says that an intent that waits for people may go on, which it does when as many
// different ones have said so as its policy asked for. A confirmation is bound to exactly what is
// on the intent's row, is used once, and is in the receipt. The intent is returned as it stands
// when the decision is committed; it runs whatever becomes of the caller.
//
// The error has code intent_altered if somebody changed the intent in the database past its
// guards; self_confirmation if the decider asked for the intent, is somebody for whom it was
// asked, or acts for one of these; already_confirmed if the decider is one of several and others
// are missing; not_permitted if the policies that the intent was decided on do not let the
// decider confirm it; confirmation_expired if it is too late; and not_awaiting_confirmation if
// the intent does not wait, or no longer does; it then says who decided what.
func (c *Client) Confirm(ctx context.Context, id intent.ID, by Decider) (Intent, error) {
	return c.ConfirmShown(ctx, id, "", by)
}

// ConfirmShown is Confirm of what the decider was shown, by its commitment or the beginning of it:
// if the intent has another one by now, nothing is recorded, and the error has code
// commitment_changed, and invalid_commitment if what is given is no commitment. An empty one is that
// of whatever is on the row.
func (c *Client) ConfirmShown(ctx context.Context, id intent.ID, shown intent.DigestPrefix, by Decider) (Intent, error) {
	if err := by.check(); err != nil {
		return Intent{}, err
	}
	if shown != "" { // one digit of it would be that of many
		if _, err := intent.ParseDigestPrefix(string(shown)); err != nil {
			return Intent{}, err
		}
	}
	killpoint.Reach(killpoint.BeforeDecision, id.String())
	v, err := c.decide(ctx, id, by, func(decider outbox.Decider, _ outbox.Row) (outbox.Row, error) {
		row, err := c.store.ConfirmShown(ctx, id, shown, decider)
		killpoint.Reach(killpoint.AfterDecision, id.String())
		return row, err
	})
	killpoint.Reach(killpoint.AfterWake, id.String())
	return v, err
}

// Deny ends an intent that waits for a person: it is refused, with a receipt, and nothing is
// sent. Whoever asked for it may deny it too. The other errors are those of Confirm.
func (c *Client) Deny(ctx context.Context, id intent.ID, by Decider) (Intent, error) {
	if err := by.check(); err != nil {
		return Intent{}, err
	}
	return c.decide(ctx, id, by, func(decider outbox.Decider, row outbox.Row) (outbox.Row, error) {
		refusal, err := activities.Denial(row, decider)
		if err != nil {
			return outbox.Row{}, err
		}
		return c.store.Deny(ctx, refusal, decider, activities.Seal)
	})
}

// recording writes what the decider decides about the intent.
type recording func(by outbox.Decider, row outbox.Row) (outbox.Row, error)

// decide records what somebody decides about an intent, if the policies permit it, and has the
// intent go on.
func (c *Client) decide(ctx context.Context, id intent.ID, by Decider, record recording) (Intent, error) {
	row, err := c.record(ctx, id, by, record)
	return c.decided(ctx, row, err)
}

// record is decide for what does not make an intent go on.
func (c *Client) record(ctx context.Context, id intent.ID, by Decider, record recording) (outbox.Row, error) {
	row, err := c.decidable(ctx, id)
	if err != nil {
		return outbox.Row{}, err
	}
	decider, err := c.permitted(ctx, row, by)
	if err != nil {
		return outbox.Row{}, err
	}
	return record(decider, row)
}

// wakeTimeout is how long a decision that is committed waits for Temporal to hear of it.
const wakeTimeout = 5 * time.Second

// decided starts the workflow of an intent that was just decided on: a confirmed one goes
// on, and the end of a denied one is shown in Temporal. If that fails, recovery starts the
// confirmed one, because it is due. What waited for the room that the decision has made goes on.
func (c *Client) decided(ctx context.Context, row outbox.Row, err error) (Intent, error) {
	if err != nil {
		return Intent{}, undecided(ctx, row, err)
	}
	if row.State == intent.AwaitingConfirmation {
		return c.view(ctx, row) // others have to confirm, and nothing is to be done before
	}
	wake, cancel := context.WithTimeout(ctx, wakeTimeout)
	defer cancel()
	if err := workflows.Wake(wake, c.temporal, row); err != nil {
		c.log.Warn("a decision is committed, and Temporal has not heard of it; recovery goes on with the intent", "intent_id", row.ID.String(), "error", err)
	}
	if row.Freed {
		c.admitWaiting(wake)
	}
	return c.view(ctx, row)
}

// undecided is the error of a decision, with what the intent's row, if it was read, shows of the
// effect. A caller that stopped waiting is told that, and not that the database is away.
func undecided(ctx context.Context, row outbox.Row, err error) error {
	var e *Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Code == intent.CodeDatabaseUnavailable && gaveUp(ctx):
		late := intent.Errorf(intent.CodeNotYetKnown, "the answer was not waited for, so it is not known whether this was recorded; give it again, because the same twice changes nothing")
		late.Cause = err
		return late
	case row.ID.IsZero():
		return err
	}
	return provenBy(viewOf(row), e)
}

// maxNote bounds Decider.Note in bytes.
const maxNote = 1000

// recorded is the decider as it is recorded.
func (d Decider) recorded() outbox.Decider {
	return outbox.Decider{
		Principal: d.Principal, Note: d.Note, Roles: intent.SortRoles(d.Roles), OnBehalfOf: d.OnBehalfOf,
		AuthenticationSource: cmp.Or(d.AuthenticationSource, intent.AuthenticatedDirect),
	}
}

func (d Decider) check() error {
	if d.Principal == "" {
		return intent.Errorf(intent.CodeUnauthenticated, "the decision names no principal; say who decides")
	}
	if err := intent.CheckIdentity(d.Principal, intent.SortRoles(d.Roles), d.OnBehalfOf); err != nil {
		return err
	}
	if err := intent.CheckSource(d.AuthenticationSource); err != nil {
		return err
	}
	return checkNote(d.Note)
}

// checkNote checks what a person wrote for other people to read.
func checkNote(note string) error {
	if len(note) > maxNote {
		return intent.Errorf(intent.CodeInvalidNote, "the note has %d bytes and %d are allowed; shorten it", len(note), maxNote)
	}
	if !utf8.ValidString(note) {
		return intent.Errorf(intent.CodeInvalidNote, "the note is not UTF-8; encode it so")
	}
	for at, r := range note {
		if !unicode.IsPrint(r) { // also what breaks a line, or turns its direction
			return intent.Errorf(intent.CodeInvalidNote, "the note has a character at byte %d that does not print; write it on one line", at)
		}
	}
	return nil
}

// decisions returns what people decided about the intent.
func (c *Client) decisions(ctx context.Context, row outbox.Row) ([]Decision, error) {
	if len(row.Decided) == 0 && row.ConfirmBy.IsZero() {
		return nil, nil
	}
	recorded, err := c.store.Decisions(ctx, row.ID)
	if err != nil {
		return nil, err
	}
	list := make([]Decision, len(recorded))
	for i, d := range recorded {
		list[i] = Decision{Kind: d.Kind, Principal: d.Principal, Note: d.Note, Standing: standingOf(d.Decider), Generation: d.Generation, DecidedAt: d.DecidedAt}
	}
	return list, nil
}
