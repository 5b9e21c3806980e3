package writ

import (
	"errors"
	"testing"
	"time"

	"go.temporal.io/api/serviceerror"

	"writ/intent"
)

func TestABackfillThatTemporalWouldDoNothingForIsRefused(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		from, to time.Time
		refused  bool
	}{
		"an hour":             {now.Add(-time.Hour), now, false},
		"by a clock ahead":    {now.Add(-time.Hour), now.Add(time.Second), false},
		"since the epoch":     {time.Unix(0, 0), now, false},
		"no time":             {now, now, true},
		"the wrong way round": {now, now.Add(-time.Hour), true},
		"tomorrow":            {now.Add(-time.Hour), now.Add(24 * time.Hour), true},
		"the year 9999":       {now, time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC), true},
		"no beginning":        {time.Time{}, now, true},
		"before the epoch":    {time.Unix(-1, 0), now, true},
	} {
		if err := checkBackfill(c.from, c.to, now); (err != nil) != c.refused || c.refused && intent.CodeOf(err) != intent.CodeInvalidSchedule {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestAnErrorOfASchedulesServerSaysWhetherItAnswered(t *testing.T) {
	t.Parallel()
	for want, err := range map[intent.Code]error{
		intent.CodeScheduleNotFound:    serviceerror.NewNotFound("no such workflow"),
		intent.CodeInvalidSchedule:     serviceerror.NewInvalidArgument("no such time zone"),
		intent.CodeTemporalRefused:     serviceerror.NewPermissionDenied("not yours", ""),
		intent.CodeTemporalUnavailable: errors.New("connection refused"),
	} {
		if got := scheduleError(err, "acme", "closing"); intent.CodeOf(got) != want {
			t.Errorf("%v, want %s", got, want)
		}
	}
}
