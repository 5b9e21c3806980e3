package writ

import (
	"reflect"
	"strings"
	"testing"

	"github.com/google/uuid"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
)

func TestAHoldKeepsIntentsWaitingAndNamesWhatItCameTooLateFor(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	early, late := unnamed(t), unnamed(t)
	e.accept(t, early)
	sent := intent.IntentID(DefaultTenant, intent.RequestKey(early.RequestKey))
	waiting := intent.IntentID(DefaultTenant, intent.RequestKey(late.RequestKey))
	row, err := e.store.Load(t.Context(), sent)
	if err != nil {
		t.Fatal(err)
	}
	claim := outbox.ClaimRequest{ID: sent, Version: row.Version, DecidedAt: row.ReadAt, Token: uuid.New(), Worker: "worker-2", SpecDigest: row.SpecDigest}
	if _, err := e.store.Claim(t.Context(), claim); err != nil {
		t.Fatal(err)
	}

	by := Decider{Principal: "eve", Roles: []string{"operator", "finance", "operator"}, OnBehalfOf: []string{"bob"}}
	hold, flights, err := e.SetHold(t.Context(), HoldRequest{HoldTool, "payments.capture"}, by)
	asEve := Standing{AuthenticationSource: intent.AuthenticatedDirect, Roles: []string{"finance", "operator"}, OnBehalfOf: []string{"bob"}}
	if err != nil || hold.Principal != "eve" || !reflect.DeepEqual(hold.Standing, asEve) || hold.Automatic || len(flights) != 1 || flights[0].IntentID != sent || flights[0].Attempt != 1 {
		t.Fatalf("%+v, %+v, %v", hold, flights, err)
	}
	e.accept(t, late)
	v, err := e.Get(t.Context(), waiting)
	if err != nil || v.Next.Reason != intent.ReasonHeld || len(v.Holds) != 1 || !reflect.DeepEqual(v.Holds[0], hold) {
		t.Errorf("%+v, %v", v, err)
	}
	out, err := e.steps.Invoke(t.Context(), activities.InvokeInput{IntentID: waiting, Tool: late.Tool, Version: 1})
	if err != nil || out.Evidence != nil || out.Progress.Step.Kind != intent.Wait {
		t.Errorf("%+v, %v", out, err)
	}

	lifted, err := e.LiftHold(t.Context(), hold.ID, Decider{Principal: "ada", Roles: []string{"operator"}})
	if err != nil || lifted.LiftedBy != "ada" || !reflect.DeepEqual(lifted.LiftedAs, Standing{AuthenticationSource: intent.AuthenticatedDirect, Roles: []string{"operator"}}) || !reflect.DeepEqual(lifted.Standing, asEve) || lifted.ID != hold.ID {
		t.Errorf("%+v, %v", lifted, err)
	}
	row, err = e.store.Load(t.Context(), waiting)
	if err != nil || row.DueAt.After(row.ReadAt) {
		t.Errorf("recovery wakes it at %s, which is after %s; %v", row.DueAt, row.ReadAt, err)
	}
	if v, err = e.Get(t.Context(), waiting); err != nil || v.Next.Kind != intent.Invoke || v.Holds != nil {
		t.Errorf("%+v, %v", v, err)
	}
	standing, err := e.Holds(t.Context(), false)
	if err != nil || len(standing) != 0 {
		t.Errorf("%+v, %v", standing, err)
	}
	if all, err := e.Holds(t.Context(), true); err != nil || len(all) != 1 || !reflect.DeepEqual(all[0], lifted) {
		t.Errorf("%+v, %v", all, err)
	}
}

func TestAHoldThatCannotBeIsRefused(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for name, c := range map[string]struct {
		request HoldRequest
		by      Decider
		code    intent.Code
	}{
		"no scope":        {HoldRequest{Name: "echo"}, eve, intent.CodeInvalidHold},
		"another scope":   {HoldRequest{"world", "echo"}, eve, intent.CodeInvalidHold},
		"no name":         {HoldRequest{Scope: HoldTenant}, eve, intent.CodeInvalidName},
		"nobody":          {HoldRequest{HoldTool, "echo"}, Decider{}, intent.CodeUnauthenticated},
		"an endless note": {HoldRequest{HoldTool, "echo"}, Decider{Principal: "eve", Note: strings.Repeat("x", maxNote+1)}, intent.CodeInvalidNote},
	} {
		if _, _, err := e.SetHold(t.Context(), c.request, c.by); intent.CodeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", name, err, c.code)
		}
	}
	for id, code := range map[string]intent.Code{"echo": intent.CodeInvalidHold, "5b0c9a53-6d0c-4f0e-8a51-0c1f4a9fd0a7": intent.CodeHoldNotFound} {
		if _, err := e.LiftHold(t.Context(), id, eve); intent.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", id, err, code)
		}
	}
}
