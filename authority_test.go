package writ

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"

	"writ/activities"
	"writ/intent"
)

// doors are the ways in which this package is asked for a tool.
func (e engine) doors(t *testing.T) map[string]func(Request) error {
	return map[string]func(Request) error{
		"execute": func(r Request) error { _, err := e.Execute(t.Context(), r); return err },
		"submit":  func(r Request) error { _, err := e.Submit(t.Context(), r); return err },
		"enqueue": func(r Request) error { _, err := e.enqueue(t, r, EnqueueOptions{}); return err },
		"json": func(r Request) error {
			members := map[string]any{"tool": r.Tool, "payload": json.RawMessage(r.Payload), "request_key": r.RequestKey,
				"principal": r.Principal, "roles": r.Roles, "on_behalf_of": r.OnBehalfOf, "service": r.Service, "process": r.Process, "run": r.Run, "risk": r.Risk}
			maps.DeleteFunc(members, func(_ string, value any) bool { return value == "" })
			text, err := json.Marshal(members)
			if err == nil {
				r, err = ParseRequest(text)
			}
			if err == nil {
				_, err = e.Execute(t.Context(), r)
			}
			return err
		},
		// Whoever starts a workflow past the client is told the same by the worker.
		"workflow": func(r Request) error {
			request := activities.Request{Tool: r.Tool, RequestKey: intent.RequestKey(r.RequestKey), Payload: r.Payload, Context: intent.EffectContext{
				Principal: r.Principal, Tenant: DefaultTenant, Roles: r.Roles, OnBehalfOf: r.OnBehalfOf, Service: r.Service, Process: r.Process, Run: r.Run, Risk: r.Risk}}
			in := activities.Input{IntentID: intent.IntentID(DefaultTenant, request.RequestKey), Request: &request}
			progress, err := e.steps.Authorize(t.Context(), in)
			if err == nil && progress.Rejection != nil {
				err = progress.Rejection.Error()
			}
			if err == nil {
				progress, err = e.steps.Persist(t.Context(), activities.PersistInput{Input: in, Decision: []byte(`{"allow":true}`)})
			}
			if err == nil && progress.Rejection != nil {
				err = progress.Rejection.Error()
			}
			return err
		},
	}
}

func TestAnotherAuthorityUnderAUsedKeyIsRefusedAtEveryDoor(t *testing.T) {
	t.Parallel()
	first := capture
	first.Roles, first.OnBehalfOf, first.Service = []string{"clerk"}, []string{"ada"}, "shop"
	others := map[string]func(*Request){
		"roles":        func(r *Request) { r.Roles = []string{"admin", "clerk"} },
		"on_behalf_of": func(r *Request) { r.OnBehalfOf = []string{"bob"} },
		"service":      func(r *Request) { r.Service = "" },
	}
	for used, c := range map[string]struct {
		use     func(*testing.T, engine)
		intents int
	}{
		"by an intent that has ended": {func(t *testing.T, e engine) { e.accept(t, first); e.complete(t, first) }, 1},
		"by what is enqueued":         {func(t *testing.T, e engine) { e.enqueued(t, first, EnqueueOptions{}) }, 0},
	} {
		t.Run(used, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t)
			c.use(t, e)
			for door, ask := range e.doors(t) {
				for differs, change := range others {
					other := first
					change(&other)
					var refused *Error
					if err := ask(other); !errors.As(err, &refused) || refused.Code != intent.CodeContextMismatch || refused.Effect != intent.NotApplied || refused.TryAgain {
						t.Errorf("%s, other %s: %v", door, differs, err)
					} else if !strings.Contains(refused.Message, "("+differs+")") || strings.Contains(refused.Message, "ada") || strings.Contains(refused.Message, "clerk") {
						t.Errorf("%s, other %s: %s", door, differs, refused.Message)
					}
				}
			}
			if len(e.temporal.started) != 0 {
				t.Error("a workflow was started")
			}
			e.wantRows(t, "intents", c.intents)
			if c.intents == 0 {
				return
			}
			again := first
			again.Process, again.Run, again.Risk = "retry", "run-2", 0.5
			for door, ask := range e.doors(t) {
				if err := ask(again); err != nil {
					t.Errorf("%s, from elsewhere: %v", door, err)
				}
			}
		})
	}
}

func TestNobodyAsksUnderANameOfWritsOwnAtAnyDoor(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	for name, change := range map[string]func(*Request){
		"asks":           func(r *Request) { r.Principal = "writ:breaker" },
		"is acted for":   func(r *Request) { r.OnBehalfOf = []string{"writ:recovery"} },
		"far behind one": func(r *Request) { r.OnBehalfOf = []string{"assistant", "writ:temporal"} },
	} {
		r := capture
		change(&r)
		for door, ask := range e.doors(t) {
			var refused *Error
			if err := ask(r); !errors.As(err, &refused) || refused.Code != intent.CodeSystemPrincipal || refused.Effect != intent.NotApplied {
				t.Errorf("%s %s: %v", door, name, err)
			}
		}
		s := Schedule{Name: "nightly", Every: 3600e9, Request: r}
		s.Request.RequestKey = ""
		if err := e.CreateSchedule(t.Context(), s); intent.CodeOf(err) != intent.CodeSystemPrincipal {
			t.Errorf("schedule %s: %v", name, err)
		}
	}
	if len(e.temporal.started) != 0 {
		t.Error("a workflow was started")
	}
	for _, table := range []string{"intents", "enqueued", "decisions"} {
		e.wantRows(t, table, 0)
	}
}

func TestNobodyDecidesUnderANameOfWritsOwn(t *testing.T) {
	t.Parallel()
	e := newEngine(t)
	e.enqueued(t, capture, EnqueueOptions{})
	id := intent.IntentID(DefaultTenant, intent.RequestKey(capture.RequestKey))
	decisions := map[string]func(Decider) error{
		"confirm":     func(by Decider) error { _, err := e.Confirm(t.Context(), id, by); return err },
		"deny":        func(by Decider) error { _, err := e.Deny(t.Context(), id, by); return err },
		"cancel":      func(by Decider) error { _, err := e.Cancel(t.Context(), id, by); return err },
		"reissue":     func(by Decider) error { _, err := e.Reissue(t.Context(), id, by); return err },
		"inquire":     func(by Decider) error { _, err := e.Inquire(t.Context(), id, by); return err },
		"acknowledge": func(by Decider) error { _, err := e.Acknowledge(t.Context(), id, by); return err },
		"resolve": func(by Decider) error {
			_, err := e.Resolve(t.Context(), id, Resolution{As: ResolveNotApplied}, by)
			return err
		},
		"set a budget": func(by Decider) error {
			_, err := e.SetBudget(t.Context(), BudgetRequest{Tenant: DefaultTenant, Kind: BudgetConcurrency, Allowed: "3"}, by)
			return err
		},
		"retry enqueued": func(by Decider) error { _, err := e.RetryEnqueued(t.Context(), id, by); return err },
		"drop enqueued":  func(by Decider) error { _, err := e.DropEnqueued(t.Context(), id, by); return err },
		"set a hold": func(by Decider) error {
			_, _, err := e.SetHold(t.Context(), HoldRequest{Scope: HoldTenant, Name: "acme"}, by)
			return err
		},
		"lift a hold": func(by Decider) error {
			_, err := e.LiftHold(t.Context(), "5b0c9a53-6d0c-4f0e-8a51-0c1f4a9fd0a7", by)
			return err
		},
	}
	for name, c := range map[string]struct {
		by   Decider
		code intent.Code
	}{
		"one of Writ's own":     {Decider{Principal: "writ:breaker"}, intent.CodeSystemPrincipal},
		"for one of Writ's own": {Decider{Principal: "eve", OnBehalfOf: []string{"writ:breaker"}}, intent.CodeSystemPrincipal},
		"nobody":                {Decider{}, intent.CodeUnauthenticated},
		"no name":               {Decider{Principal: "\u0430da"}, intent.CodeInvalidName},
		"a role that is none":   {Decider{Principal: "eve", Roles: []string{"finance "}}, intent.CodeInvalidName},
		"for itself":            {Decider{Principal: "eve", OnBehalfOf: []string{"eve"}}, intent.CodeInvalidRequest},
		"said to be proven":     {Decider{Principal: "eve", AuthenticationSource: "oidc:corp"}, intent.CodeInvalidRequest},
	} {
		for decision, decide := range decisions {
			if err := decide(c.by); intent.CodeOf(err) != c.code {
				t.Errorf("%s by %s: %v, want %s", decision, name, err, c.code)
			}
		}
	}
	var untouched int
	const query = `SELECT count(*)::int FROM enqueued WHERE decided_by = '' AND dropped_at IS NULL`
	if err := e.pool.QueryRow(t.Context(), query).Scan(&untouched); err != nil || untouched != 1 {
		t.Error(fmt.Errorf("%d requests are as they were, want 1: %w", untouched, err))
	}
	e.wantRows(t, "holds", 0)
}
