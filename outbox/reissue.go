package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// Reissue begins an intent that failed again under a new key, in one flushed commit of the
// decision and the new generation, and returns its row. next says, under the row's lock, what
// the generation's key and commitment are.
//
// The same reissue by the same person again changes nothing while its generation stands. The
// error has code not_reissuable unless the intent failed and nothing on record says that the
// effect happened or may have happened, in any generation. What had to be confirmed is
// confirmed anew by whoever issues it again, so the requester may not (self_confirmation).
//
// Budgets count it anew, since its failure was released; money is what those of money count. The
// errors are those of Insert, and nothing is decided then. Where a budget says so it waits.
func (s *Store) Reissue(ctx context.Context, id intent.ID, by Decider, money *Money, next func(Row) Renewal) (Row, error) {
	var row Row
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) (err error) {
		if row, err = lockRow(ctx, tx, id); err != nil {
			return err
		}
		earlier, err := decisions(ctx, tx, id)
		if err != nil {
			return err
		}
		if last, ok := lastResolution(earlier); ok && last.Kind == intent.Reissue && last.Generation == row.Generation-1 &&
			last.Principal == by.Principal && last.Note == by.Note && row.State != intent.Failed {
			return nil
		}
		if err := reissuable(row, earlier); err != nil {
			return err
		}
		if err := mayReissue(row, by); err != nil {
			return err
		}
		if err := insertDecision(ctx, tx, row, Decision{Kind: intent.Reissue, Decider: by}); err != nil {
			return err
		}
		renewal := next(row)
		if row, err = renew(ctx, tx, row, renewal.Key, renewal.Commitment); err != nil {
			return err
		}
		waits, err := row.admission(money).admit(ctx, tx)
		if waits {
			row, err = load(ctx, tx, id)
		}
		return err
	})
	return row, err
}

// mayReissue is nil if the decider's word alone is as much as had to be confirmed.
func mayReissue(row Row, by Decider) error {
	switch quorum := row.Record().Quorum(); {
	case quorum == 0:
		return nil
	case quorum > 1:
		return intent.Errorf(intent.CodeNotReissuable,
			"%d people had to confirm intent %s, and one alone may not issue it again; ask with a new request key, so that they confirm it anew", quorum, row.ID)
	}
	return mayDecide(row, by)
}

// reissuable is nil if it is on record that nothing happened.
func reissuable(row Row, earlier []Decision) error {
	var mend string
	switch row.State {
	case intent.Failed:
		if intent.Happened(row.Record()) == intent.NotApplied {
			return nil
		}
		return intent.Errorf(intent.CodeNotReissuable,
			"evidence that came after the end of intent %s says that its effect may have happened, so it is not issued again; see `writ intent get %s`", row.ID, row.ID)
	case intent.InDoubt:
		mend = "resolve it first"
	case intent.Completed:
		mend = "its effect happened; use a new request key if it is wanted twice"
	case intent.Refused:
		mend = "nothing was sent; the same request again is decided on anew, unless a person said no"
	case intent.Cancelled:
		mend = "nothing was done; use a new request key if it is wanted"
	case intent.Submitted, intent.AwaitingConfirmation, intent.Recorded, intent.Invoking:
		mend = "it goes on by itself"
	}
	return intent.Errorf(intent.CodeNotReissuable, "intent %s is %s and did not fail%s; %s", row.ID, row.State, told(earlier), mend)
}
