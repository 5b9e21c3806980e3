package outbox_test

import (
	"strings"
	"testing"

	"writ/intent"
)

func TestAFailedIntentIsIssuedAgainUnderAKeyOfItsOwn(t *testing.T) {
	t.Parallel()
	b := start(t)
	failed := b.in(t, intent.Failed, "order-1")
	again, err := b.Reissue(t.Context(), failed.ID, statement, nil, renewal)
	if err != nil || again.State != intent.Recorded || again.Generation != 2 || again.IdempotencyKey == failed.IdempotencyKey ||
		!again.EndedAt.IsZero() || again.DueAt.IsZero() || again.Next().Kind != intent.Invoke {
		t.Fatalf("%+v, %v", again, err)
	}
	if list, err := b.Decisions(t.Context(), failed.ID); err != nil || len(list) != 1 || list[0].Commitment != failed.Commitment || list[0].Generation != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if repeated, err := b.Reissue(t.Context(), failed.ID, statement, nil, renewal); err != nil || repeated.Version != again.Version {
		t.Errorf("the same again: %+v, %v", repeated, err)
	}
	if _, err := b.Reissue(t.Context(), failed.ID, eve, nil, renewal); intent.CodeOf(err) != intent.CodeNotReissuable || !strings.Contains(err.Error(), "eve issued it again") {
		t.Errorf("somebody else: %v", err)
	}
	c := b.granted(t, again)
	ev := of(c, intent.Applied, "")
	if done := b.journal(t, c.Row, &ev); done.State != intent.Completed {
		t.Errorf("%s", done.State)
	}
	if got := b.receipt(t, failed.ID); got != "failed definite_failure 1  and completed effect_applied 2 application/json, 17 of 17 bytes" {
		t.Errorf("receipts %q", got)
	}
}
