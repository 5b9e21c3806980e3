package activities

import (
	"context"

	"writ/intent"
	"writ/outbox"
	"writ/telemetry"
)

// inTemporal is who cancelled an intent whose workflow was cancelled: Temporal does not say who
// asked it to.
var inTemporal = outbox.Decider{Principal: intent.SystemPrincipals + "temporal", Note: "the workflow was cancelled in Temporal"}

// Cancel records that the intent's workflow was cancelled, and says where the intent stands
// then.
func (a *Activities) Cancel(ctx context.Context, in Input) (p Progress, err error) {
	defer beatStep(ctx)()
	ctx, span := telemetry.Start(in.traced(ctx), "writ.cancel", telemetry.IntentID.String(in.IntentID.String()))
	defer func() { telemetry.End(span, err) }()
	row, err := a.store.Cancel(ctx, in.IntentID, inTemporal, Seal)
	if intent.CodeOf(err) == intent.CodeAlreadyEnded {
		row, err = a.store.Load(ctx, in.IntentID)
	}
	if err != nil {
		return Progress{}, err
	}
	a.notice(row)
	return progressOf(row), nil
}
