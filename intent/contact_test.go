package intent

import "testing"

func TestWhatNobodySaidOfAProviderFollowsFromTheOutcome(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said    Contact
		outcome Outcome
		want    Contact
	}{
		{"", Applied, Answered},
		{"", NotApplied, Answered},
		{"", Unknown, Unanswered},
		{Unanswered, NotApplied, Unanswered},
		{NoContact, NotApplied, NoContact},
		{NoContact, Unknown, NoContact},
		{Answered, Unknown, Answered},
	} {
		if got := c.said.Given(c.outcome); got != c.want {
			t.Errorf("%q of an outcome %s is %s, want %s", c.said, c.outcome, got, c.want)
		}
	}
}
