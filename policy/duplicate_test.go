package policy

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"writ/intent"
)

func TestARepeatIsFlaggedRefusedOrConfirmedAsTheToolSays(t *testing.T) {
	t.Parallel()
	allowed := Decision{Allow: true, Policy: "host", Reason: "it is Monday"}
	earlier := Duplicate{Of: intent.IntentID("acme", "order-4711"), Ago: 12*time.Second + 300*time.Millisecond}

	flagged := allowed
	flagged.SuspectedDuplicateOf = earlier.Of
	if got := allowed.GuardAgainst(earlier, intent.FlagDuplicates); !reflect.DeepEqual(got, flagged) {
		t.Errorf("flag: %+v", got)
	}
	confirmed := flagged
	confirmed.Confirm = true
	if got := allowed.GuardAgainst(earlier, intent.ConfirmDuplicates); !reflect.DeepEqual(got, confirmed) {
		t.Errorf("confirm: %+v", got)
	}
	refused := allowed.GuardAgainst(earlier, intent.RefuseDuplicates)
	if refused.Allow || refused.Confirm || refused.Code != intent.CodeDuplicateSuspected || refused.Policy != "writ" || refused.SuspectedDuplicateOf != earlier.Of {
		t.Errorf("refuse: %+v", refused)
	}
	for _, word := range []string{earlier.Of.String(), "12s ago", "key of its own"} {
		if !strings.Contains(refused.Reason, word) {
			t.Errorf("%q does not say %q", refused.Reason, word)
		}
	}
}

func TestTheGuardChangesNeitherADenialNorWhatRepeatsNothing(t *testing.T) {
	t.Parallel()
	denied := Decision{Policy: "host", Code: intent.CodePolicyDenied, Reason: "it is Sunday"}
	allowed := Decision{Allow: true, Policy: "host"}
	for _, action := range []intent.DuplicateAction{intent.FlagDuplicates, intent.RefuseDuplicates, intent.ConfirmDuplicates} {
		if got := denied.GuardAgainst(Duplicate{Of: intent.ID{1}}, action); !reflect.DeepEqual(got, denied) {
			t.Errorf("%q: the denial became %+v", action, got)
		}
		if got := allowed.GuardAgainst(Duplicate{}, action); !reflect.DeepEqual(got, allowed) {
			t.Errorf("%q: without an earlier one it became %+v", action, got)
		}
	}
}

// Decisions are on rows and in receipts of earlier releases, and digests are over them.
func TestADecisionThatTheGuardDidNotTouchKeepsItsForm(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]Decision{
		`{"allow":true,"policy":"host","reason":"it is Monday"}`: {Allow: true, Policy: "host", Reason: "it is Monday"},
		`{"allow":true,"confirm":true,"policy":"host","suspected_duplicate_of":"01000000-0000-0000-0000-000000000000"}`: {
			Allow: true, Policy: "host", Confirm: true, SuspectedDuplicateOf: intent.ID{1}},
		`{"allow":false,"code":"confirmation_denied","policy":"writ","reason":"eve denied it: twice is once too often"}`:                                           ConfirmationDenied("eve", "twice is once too often"),
		`{"allow":false,"code":"confirmation_denied","policy":"writ","reason":"eve denied it"}`:                                                                    ConfirmationDenied("eve", ""),
		`{"allow":false,"code":"confirmation_expired","policy":"writ","reason":"too few people confirmed it in time; the same request again waits for them anew"}`: ConfirmationExpired(),
	} {
		if got, err := d.Canonical(); err != nil || string(got) != want {
			t.Errorf("%s, %v; want %s", got, err, want)
		}
	}
}
