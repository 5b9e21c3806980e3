package writ

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"

	"writ/intent"
	"writ/outbox"
)

// HoldScope says what a hold stops.
type HoldScope = outbox.HoldScope

// The scopes of holds.
const (
	HoldTool     = outbox.HoldTool
	HoldProvider = outbox.HoldProvider
	HoldTenant   = outbox.HoldTenant
)

// HoldRequest says what is to be stopped: one tool, one provider or one tenant.
type HoldRequest struct {
	Scope HoldScope
	// Name is the tool's, the provider's or the tenant's, in the grammar of names. It need not
	// be known: a hold may be there before what it stops.
	Name string
}

// Hold is a stop on a tool, a provider or a tenant. Nothing more is sent for its intents while
// it stands; they are accepted, wait, and go on by themselves when it is lifted. It is no
// denial. Lookups, which have no effect, go on.
type Hold struct {
	ID    string    `json:"id"`
	Scope HoldScope `json:"scope"`
	Name  string    `json:"name"`
	// Automatic says that the provider's circuit breaker set it, and not a person.
	Automatic bool `json:"automatic"`
	// Principal is who set it, in that standing, and Note says why.
	Principal string `json:"principal"`
	Standing
	Note  string    `json:"note,omitempty"`
	SetAt time.Time `json:"set_at"`
	// ProbeAt is when one attempt may try the provider, and Probes is how many have; only of an
	// automatic hold. The first answer lifts it.
	ProbeAt time.Time `json:"probe_at,omitzero"`
	Probes  int       `json:"probes,omitempty"`
	// LiftedAt is absent while the hold stands.
	LiftedAt time.Time `json:"lifted_at,omitzero"`
	LiftedBy string    `json:"lifted_by,omitempty"`
	LiftedAs Standing  `json:"lifted_as,omitzero"`
	LiftNote string    `json:"lift_note,omitempty"`
}

// Flight is an attempt that a hold came too late for: it was granted before, and nothing is
// known of it yet. Its request may still be sent until the lease ends.
type Flight struct {
	IntentID   intent.ID         `json:"intent_id"`
	Tenant     string            `json:"tenant"`
	RequestKey intent.RequestKey `json:"request_key"`
	Tool       string            `json:"tool"`
	Attempt    int               `json:"attempt"`
	Worker     string            `json:"worker"`
	ClaimedAt  time.Time         `json:"claimed_at"`
	LeaseUntil time.Time         `json:"lease_until"`
}

// SetHold stops a tool, a provider or a tenant and returns the hold with the attempts that are
// in flight. After it has returned nothing is sent for the subject's intents but those attempts.
// A hold that a person has set already is returned as it stands, so the call may be repeated.
//
// If the error is not nil and the hold has an ID, the hold stands, and only the attempts in
// flight could not be read. A request that cannot be one has code invalid_hold or invalid_name.
func (c *Client) SetHold(ctx context.Context, r HoldRequest, by Decider) (Hold, []Flight, error) {
	if err := r.check(); err != nil {
		return Hold{}, nil, err
	}
	if err := by.check(); err != nil {
		return Hold{}, nil, err
	}
	on := outbox.Subject(r)
	set, err := c.store.SetHold(ctx, on, by.recorded())
	if err != nil {
		return Hold{}, nil, undecided(ctx, outbox.Row{}, err)
	}
	flights, err := c.store.InFlight(ctx, on)
	list := make([]Flight, len(flights))
	for i, f := range flights {
		list[i] = Flight{IntentID: f.ID, Tenant: f.Tenant, RequestKey: f.RequestKey, Tool: f.Tool, Attempt: f.Attempt,
			Worker: f.Worker, ClaimedAt: f.ClaimedAt, LeaseUntil: f.LeaseUntil}
	}
	return holdOf(set), list, err
}

func (r HoldRequest) check() error {
	switch r.Scope {
	case HoldTool, HoldProvider, HoldTenant:
		return intent.CheckName(string(r.Scope), r.Name)
	}
	return intent.Errorf(intent.CodeInvalidHold, "a hold of scope %.64q cannot be set; choose %s, %s or %s", r.Scope, HoldTool, HoldProvider, HoldTenant)
}

// Holds returns the holds that stand, or with all those that were lifted too: the latest first,
// and at most 1,000.
func (c *Client) Holds(ctx context.Context, all bool) ([]Hold, error) {
	holds, err := c.store.Holds(ctx, all)
	return holdsOf(holds), err
}

// LiftHold lifts a hold, also one that a circuit breaker has set, and returns it. What it kept
// waiting goes on within seconds, or within minutes where that is interrupted. The error has
// code hold_not_found if no hold with the id stands; it says who lifted it.
func (c *Client) LiftHold(ctx context.Context, id string, by Decider) (Hold, error) {
	if err := by.check(); err != nil {
		return Hold{}, err
	}
	parsed, err := uuid.Parse(id)
	if err != nil {
		return Hold{}, intent.Errorf(intent.CodeInvalidHold, "%.40q is no id of a hold; `writ hold list` shows the ids", id)
	}
	lifted, err := c.store.LiftHold(ctx, parsed, by.recorded())
	if err != nil {
		return Hold{}, undecided(ctx, outbox.Row{}, err)
	}
	if _, err := c.store.Release(ctx, lifted.Subject); err != nil {
		c.log.Warn("a hold is lifted, and not all that waited for it goes on at once; the rest does when its own wait is over",
			"hold_id", lifted.ID, "error", err)
	}
	return holdOf(lifted), nil
}

// told names the hold, and who set it and why.
func (h Hold) told() string {
	text := fmt.Sprintf("the hold on %s %s, set by %s at %s", h.Scope, h.Name, h.Principal, h.SetAt.UTC().Format(time.RFC3339))
	if h.Note != "" {
		text += ": " + h.Note
	}
	return text
}

// holdsOn returns what keeps an intent waiting.
func (c *Client) holdsOn(ctx context.Context, row outbox.Row) ([]Hold, error) {
	if row.HeldUntil.IsZero() || row.State.Ended() {
		return nil, nil
	}
	holds, err := c.store.HoldsOn(ctx, row)
	if len(holds) == 0 {
		return nil, err // lifted since
	}
	return holdsOf(holds), err
}

func holdsOf(list []outbox.Hold) []Hold {
	holds := make([]Hold, len(list))
	for i, h := range list {
		holds[i] = holdOf(h)
	}
	return holds
}

func holdOf(h outbox.Hold) Hold {
	return Hold{
		ID: h.ID.String(), Scope: h.Scope, Name: h.Name, Automatic: h.Automatic, Principal: h.Principal, Standing: standingOf(h.Decider), Note: h.Note, SetAt: h.SetAt,
		ProbeAt: h.ProbeAt, Probes: h.Probes, LiftedAt: h.LiftedAt, LiftedBy: h.Lifter.Principal, LiftedAs: standingOf(h.Lifter), LiftNote: h.Lifter.Note,
	}
}
