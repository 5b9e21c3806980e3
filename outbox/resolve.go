package outbox

import (
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Resolution is what a person says became of an intent in doubt.
type Resolution struct {
	// Kind is intent.ResolveApplied, intent.ResolveNotApplied or intent.Retry.
	Kind intent.DecisionKind
	// MediaType and Result are what the tool would have answered. Only for
	// intent.ResolveApplied; both empty if nobody knows.
	MediaType string
	Result    []byte
}

// Resolve records what a person says of an intent in doubt, in one flushed commit, and returns
// its row. An outcome ends the intent in that commit, with its receipt; a retry begins its
// budgets anew, and the rule decides on from there.
//
// The same resolution by the same person again changes nothing until the intent is parked once
// more. The errors that are answers are not_in_doubt, which says who decided before, and
// retry_refused if the rule would not go on although a person lets it.
func (s *Store) Resolve(ctx context.Context, id intent.ID, as Resolution, by Decider, seal Seal) (Row, error) {
	if !slices.Contains([]intent.DecisionKind{intent.ResolveApplied, intent.ResolveNotApplied, intent.Retry}, as.Kind) {
		return Row{}, intent.Errorf(intent.CodeInvalidResolution, "%.64q is no resolution; nothing was decided", as.Kind)
	}
	d := Decision{Kind: as.Kind, Decider: by, MediaType: as.MediaType, Result: as.Result}
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, id); err != nil {
			return err
		}
		earlier, err := decisions(ctx, tx, id)
		if err != nil {
			return err
		}
		if said, err := saidAlready(ctx, tx, row, earlier, d); said || err != nil {
			return err
		}
		if err := resolvable(row, earlier); err != nil {
			return err
		}
		if d.Kind == intent.Retry {
			if err := retryable(row); err != nil {
				return err
			}
		}
		row, err = decide(ctx, tx, row, d, seal)
		return err
	})
	return row, err
}

// parked reports whether the intent is in doubt and nothing goes on until somebody decides or
// late evidence comes.
func (r Row) parked() bool { return r.State == intent.InDoubt && r.Next().Kind == intent.Stop }

// saidAlready reports whether d is the decision that the row is where it is by: somebody who did
// not hear the answer says it once more.
func saidAlready(ctx context.Context, tx pgx.Tx, row Row, earlier []Decision, d Decision) (bool, error) {
	last, ok := lastResolution(earlier)
	if !ok || row.parked() || last.Generation != row.Generation || last.Kind != d.Kind || last.Principal != d.Principal || last.Note != d.Note {
		return false, nil
	}
	const query = `
		SELECT media_type IS NOT DISTINCT FROM nullif($3, '') AND result IS NOT DISTINCT FROM $4
		FROM decisions WHERE intent_id = $1 AND number = $2`
	var same bool
	err := tx.QueryRow(ctx, query, row.ID[:], last.Number, d.MediaType, d.Result).Scan(&same)
	return same, err
}

// lastResolution returns the last decision that says how an intent in doubt goes on.
func lastResolution(list []Decision) (Decision, bool) {
	for _, d := range slices.Backward(list) {
		switch d.Kind {
		case intent.ResolveApplied, intent.ResolveNotApplied, intent.Retry, intent.Cancel, intent.Reissue:
			return d, true
		case intent.Confirm, intent.Deny, intent.Inquire, intent.Acknowledge:
		}
	}
	return Decision{}, false
}

// resolvable is nil if a person may say what became of the intent. While the provider is being
// asked a person may know better; what a retry has begun has to be stopped first.
func resolvable(row Row, earlier []Decision) error {
	last, _ := lastResolution(earlier)
	switch {
	case row.State != intent.InDoubt:
		return intent.Errorf(intent.CodeNotInDoubt, "intent %s is %s and not in doubt%s; nothing was decided", row.ID, row.State, told(earlier))
	case intent.Happened(row.Record()) != intent.Unknown:
		return intent.Errorf(intent.CodeNotInDoubt,
			"evidence has come for intent %s, which goes on by itself (%s); nothing was decided", row.ID, row.Next().Reason)
	case last.Kind == intent.Retry && !row.parked():
		return intent.Errorf(intent.CodeNotInDoubt,
			"intent %s is being tried again%s; nothing was decided; `writ intent cancel` stops it", row.ID, told(earlier))
	}
	return nil
}

// retryable is nil if the rule would go on with a parked intent once a person lets it.
func retryable(row Row) error {
	r := row.Record()
	r.Decisions = append(slices.Clone(r.Decisions), r.Decide(intent.Retry))
	why := parkedFor(r, row.ReadAt)
	if why == "" {
		return nil
	}
	return intent.Errorf(intent.CodeRetryRefused,
		"intent %s may not be tried again (%s): the effect could happen twice; ask the provider, and resolve it as applied or not applied", row.ID, why)
}

// parkedFor returns the reason for which the rule parks an intent in doubt; empty if it goes on.
func parkedFor(r intent.Record, now time.Time) string {
	r.State = intent.Invoking // which is parked anew, with a reason
	step := intent.Next(r, now)
	if step.Kind != intent.Park {
		return ""
	}
	return step.Reason
}

// ParkedFor returns the reason for which the intent is in doubt, one of intent's Reason
// constants; empty if it is not, or if it goes on by itself.
func (r Row) ParkedFor() string {
	if !r.parked() {
		return ""
	}
	return parkedFor(r.Record(), r.ReadAt)
}

// Inquire has the provider asked again what became of an intent in doubt, in one flushed commit
// with the decision, and returns its row. What the provider says decides: the intent may end,
// be sent again if nothing happened, or stay in doubt. If it goes on already, nothing is
// changed. The errors that are answers are not_in_doubt, and no_lookup if the tool has no way
// to ask.
func (s *Store) Inquire(ctx context.Context, id intent.ID, by Decider, seal Seal) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, id); err != nil {
			return err
		}
		earlier, err := decisions(ctx, tx, id)
		switch {
		case err != nil:
			return err
		case row.State != intent.InDoubt:
			return intent.Errorf(intent.CodeNotInDoubt, "intent %s is %s and not in doubt%s; nobody was asked", id, row.State, told(earlier))
		case !row.Rules.Lookup:
			return intent.Errorf(intent.CodeNoLookup, "tool %s has no way to ask its provider about intent %s; ask the provider yourself, and resolve it", row.Tool, id)
		case !row.parked():
			return nil
		}
		row, err = decide(ctx, tx, row, Decision{Kind: intent.Inquire, Decider: by}, seal)
		return err
	})
	return row, err
}
