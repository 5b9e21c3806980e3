package integration

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"go.temporal.io/sdk/client"

	"writ"
	"writ/intent"
	"writ/outbox"
	"writ/workflows"
)

// asker is who asks for the world's capture under a request key, whatever the door.
type asker struct {
	principal         string
	roles, onBehalfOf []string
	service           string
}

// clerk is who uses the key first.
var clerk = asker{"agent-7", []string{"clerk", "finance"}, []string{"assistant", "ada"}, "shop"}

func (a asker) request(w *world, key string) writ.Request {
	return writ.Request{Tool: capture.tool, Payload: []byte(capture.payload), RequestKey: key, Tenant: w.name,
		Principal: a.principal, Roles: a.roles, OnBehalfOf: a.onBehalfOf, Service: a.service}
}

// flags say the same on the command line.
func (a asker) flags() []string {
	flags := []string{"--principal", a.principal, "--service", a.service}
	for _, role := range a.roles {
		flags = append(flags, "--role", role)
	}
	for _, name := range a.onBehalfOf {
		flags = append(flags, "--on-behalf-of", name)
	}
	return flags
}

// members are the same as the members of a request's JSON, and of a raw workflow's.
func (a asker) members() map[string]any {
	return map[string]any{"principal": a.principal, "roles": a.roles, "on_behalf_of": a.onBehalfOf, "service": a.service}
}

// refused is what a door said: the code, and the words.
type refused struct{ code, said string }

func refusedWith(err error) refused {
	if err == nil {
		return refused{}
	}
	return refused{string(intent.CodeOf(err)), err.Error()}
}

func (p *process) refused(t testing.TB) refused {
	t.Helper()
	got := p.outcome(t)
	if got.Error.Code != "" && got.Error.Effect != intent.NotApplied && got.Error.Code != intent.CodeSystemPrincipal {
		t.Errorf("%s leaves the effect %s", p.name, got.Error.Effect)
	}
	return refused{string(got.Error.Code), got.Error.Message}
}

// doors are the ways to ask for the capture under a key.
func (w *world) doors(t testing.TB) map[string]func(a asker, key string) refused {
	c := w.dial(t)
	return map[string]func(a asker, key string) refused{
		"the client's Execute": func(a asker, key string) refused {
			_, err := c.Execute(t.Context(), a.request(w, key))
			return refusedWith(err)
		},
		"the client's Submit": func(a asker, key string) refused {
			_, err := c.Submit(t.Context(), a.request(w, key))
			return refusedWith(err)
		},
		"a host's transaction": func(a asker, key string) refused {
			return refusedWith(w.inHost(t, func(tx pgx.Tx) error {
				_, err := writ.Enqueue(t.Context(), tx, a.request(w, key), writ.EnqueueOptions{})
				return err
			}))
		},
		"the command line": func(a asker, key string) refused {
			return w.ask(t, capture, key, a.flags()...).refused(t)
		},
		"the command line, detached": func(a asker, key string) refused {
			return w.ask(t, capture, key, append(a.flags(), "--detach")...).refused(t)
		},
		"the environment": func(a asker, key string) refused {
			environment := append(w.environment(), "WRIT_PRINCIPAL="+a.principal, "WRIT_ROLES="+strings.Join(a.roles, ","), "WRIT_ON_BEHALF_OF="+strings.Join(a.onBehalfOf, ","))
			return start(t, "writ execute", program("writ"), environment, "execute", capture.tool, "--payload", capture.payload,
				"--key", key, "--tenant", w.name, "--service", a.service, "-o", "json").refused(t)
		},
		"a request in JSON": func(a asker, key string) refused {
			members := a.members()
			members["tool"], members["payload"], members["request_key"], members["tenant"] = capture.tool, json.RawMessage(capture.payload), key, w.name
			text, err := json.Marshal(members)
			if err != nil {
				t.Fatal(err)
			}
			return w.writ(t, "execute", "--request", string(text)).refused(t)
		},
		"a raw workflow": func(a asker, key string) refused { return w.rawly(t, a, key) },
	}
}

// inHost runs a transaction of a host's own.
func (w *world) inHost(t testing.TB, do func(tx pgx.Tx) error) error {
	t.Helper()
	host, err := pgx.Connect(t.Context(), w.database)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = host.Close(context.WithoutCancel(t.Context())) }()
	return pgx.BeginFunc(t.Context(), host, do)
}

// startRaw starts the workflow past every client of Writ and waits for its end.
func (w *world) startRaw(t testing.TB, a asker, key string) (ended workflows.Result) {
	t.Helper()
	asked := a.members()
	asked["tenant"] = w.name
	id := intent.IntentID(w.name, intent.RequestKey(key))
	run, err := w.stack.temporal(t).ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: workflows.ID(id), TaskQueue: w.name}, workflows.Type,
		map[string]any{"intent_id": id, "request": map[string]any{"tool": capture.tool, "request_key": key, "payload": json.RawMessage(capture.payload), "context": asked}})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Get(t.Context(), &ended); err != nil {
		t.Fatal(err)
	}
	return ended
}

// rawly is what startRaw said.
func (w *world) rawly(t testing.TB, a asker, key string) refused {
	t.Helper()
	ended := w.startRaw(t, a, key)
	if ended.Rejection == nil {
		return refused{}
	}
	return refusedWith(ended.Rejection.Error())
}

func TestAUsedKeyIsRefusedToAnotherAuthorityAtEveryDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	doors := w.doors(t)
	first := w.ask(t, capture, requestKey, clerk.flags()...).outcome(t)
	first.completed(t)
	for differs, other := range map[string]asker{
		"roles":                        {clerk.principal, []string{"admin", "clerk"}, clerk.onBehalfOf, clerk.service},
		"on_behalf_of":                 {clerk.principal, clerk.roles, []string{"assistant", "bob"}, clerk.service},
		"service":                      {clerk.principal, clerk.roles, clerk.onBehalfOf, "back-office"},
		"on_behalf_of, roles, service": {clerk.principal, nil, nil, "back-office"},
	} {
		for door, ask := range doors {
			got := ask(other, requestKey)
			if got.code != string(intent.CodeContextMismatch) || !strings.Contains(got.said, "("+differs+")") {
				t.Errorf("%s with other %s: %+v", door, differs, got)
			}
			for _, hidden := range []string{"finance", "ada", `"shop"`, string(first.Intent.IdempotencyKey)} {
				if strings.Contains(got.said, hidden) {
					t.Errorf("%s with other %s tells %s: %s", door, differs, hidden, got.said)
				}
			}
		}
	}
	for door, ask := range doors {
		if got := ask(clerk, requestKey); got.code != "" {
			t.Errorf("%s refuses the first one: %+v", door, got)
		}
	}
	if again := w.ask(t, capture, requestKey, clerk.flags()...).outcome(t); string(again.Receipt) != string(first.Receipt) {
		t.Errorf("the receipt was %s and is %s", first.Receipt, again.Receipt)
	}
	w.provider.effects(t, 1)
	w.provider.requests(t, 1)
}

func TestNobodyAsksUnderANameOfWritsOwnAtAnyDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	for name, other := range map[string]asker{
		"asks":         {"writ:breaker", clerk.roles, clerk.onBehalfOf, clerk.service},
		"is acted for": {clerk.principal, clerk.roles, []string{"assistant", "writ:temporal"}, clerk.service},
	} {
		for door, ask := range w.doors(t) {
			if got := ask(other, door+name); got.code != string(intent.CodeSystemPrincipal) {
				t.Errorf("%s, where one of Writ's own %s: %+v", door, name, got)
			}
		}
		p := w.writ(t, append([]string{"schedule", "create", "nightly", capture.tool, "--tenant", w.name, "--every", "1h", "--payload", capture.payload}, other.flags()...)...)
		if got := p.refused(t); got.code != string(intent.CodeSystemPrincipal) {
			t.Errorf("a schedule, where one of Writ's own %s: %+v", name, got)
		}
	}
	for _, table := range []string{"intents", "enqueued"} {
		var n int
		query(t, w.database, `SELECT count(*) FROM `+table, &n)
		if n != 0 {
			t.Errorf("%d rows of %s were written", n, table)
		}
	}
	w.provider.requests(t, 0)
}

// The host's transaction is open while another authority uses the key.
func TestAnEnqueuedRequestWhoseKeyAnotherAuthorityUsedFirstIsParked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	other := asker{clerk.principal, []string{"admin"}, clerk.onBehalfOf, clerk.service}
	var enqueued writ.Enqueued
	err := w.inHost(t, func(tx pgx.Tx) (err error) {
		if enqueued, err = writ.Enqueue(t.Context(), tx, other.request(w, requestKey), writ.EnqueueOptions{}); err != nil {
			return err
		}
		w.ask(t, capture, requestKey, clerk.flags()...).outcome(t).completed(t)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	c := w.dial(t)
	eventually(t, "it is parked", func(ctx context.Context) error {
		page, err := c.Enqueued(ctx, writ.ListFilter{Tenant: w.name, Parked: true})
		if err == nil && (len(page.Requests) != 1 || page.Requests[0].ErrorCode != intent.CodeContextMismatch) {
			err = fmt.Errorf("parked are %+v", page.Requests)
		}
		return err
	})
	if dropped, err := c.DropEnqueued(t.Context(), enqueued.ID, writ.Decider{Principal: "eve"}); err != nil || dropped.DroppedAt.IsZero() {
		t.Errorf("%+v, %v", dropped, err)
	}
	w.provider.effects(t, 1)
}

// While the key is enqueued, its row is what other doors are compared with.
func TestAnEnqueuedKeyIsRefusedToAnotherAuthorityAtEveryDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	err := w.inHost(t, func(tx pgx.Tx) error {
		_, err := writ.Enqueue(t.Context(), tx, clerk.request(w, requestKey), writ.EnqueueOptions{NotBefore: time.Now().Add(time.Hour)})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	doors := w.doors(t)
	for door, ask := range doors {
		if got := ask(asker{clerk.principal, clerk.roles, nil, clerk.service}, requestKey); got.code != string(intent.CodeContextMismatch) {
			t.Errorf("%s: %+v", door, got)
		}
	}
	w.provider.requests(t, 0)
	w.ask(t, capture, requestKey, clerk.flags()...).outcome(t).completed(t)
	w.provider.effects(t, 1)
}

func TestATimeThatAScheduleHasRunIsNotRunForAnotherAuthority(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	const key = "schedule:closing:2025-03-01T01:00:00Z"
	schedule := func(a asker, then func()) {
		t.Helper()
		create := []string{"schedule", "create", "closing", capture.tool, "--tenant", w.name, "--every", "1h", "--paused", "--payload", capture.payload}
		for _, arguments := range [][]string{
			append(create, a.flags()...),
			{"schedule", "backfill", "closing", "--tenant", w.name, "--from", "2025-03-01T00:30:00Z", "--to", "2025-03-01T01:30:00Z"},
		} {
			w.writ(t, arguments...).succeeds(t)
		}
		then()
		w.writ(t, "schedule", "delete", "closing", "--tenant", w.name).succeeds(t)
	}
	schedule(clerk, func() { w.awaitState(t, key, intent.Completed) })
	other := clerk
	other.roles = []string{"admin"}
	schedule(other, func() {
		eventually(t, "the time is rejected for the other authority", func(ctx context.Context) error {
			var ended workflows.Result
			err := w.stack.temporal(t).GetWorkflow(ctx, workflows.ID(intent.IntentID(w.name, key)), "").Get(ctx, &ended)
			if err == nil && (ended.Rejection == nil || ended.Rejection.Code != intent.CodeContextMismatch) {
				err = fmt.Errorf("the latest run ended with %+v", ended)
			}
			return err
		})
	})
	w.provider.effects(t, 1)
	w.provider.requests(t, 1)
}

// A workflow that was started past every client carries the context that its starter chose. What
// the host sealed in its own transaction is not replaced by that.
func TestTheContextThatAHostSealedIsNotReplacedOnTheWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	e := outbox.Enqueued{RequestKey: requestKey, NotBefore: time.Now().Add(time.Hour),
		Action: intent.Action{Tenant: w.name, Principal: clerk.principal, Tool: capture.tool, Payload: canonical(t, capture.payload)},
		EffectContext: intent.EffectContext{Principal: clerk.principal, Tenant: w.name, AuthenticationSource: intent.AuthenticatedDirect,
			Roles: clerk.roles, OnBehalfOf: clerk.onBehalfOf, Service: clerk.service}.Canonical()}
	err := w.inHost(t, func(tx pgx.Tx) error { _, err := outbox.Enqueue(t.Context(), tx, e); return err })
	if err != nil {
		t.Fatal(err)
	}
	altered := clerk
	altered.roles = []string{"clerk", "finance", "root"}
	if got := w.rawly(t, altered, requestKey); got.code != string(intent.CodeContextMismatch) {
		t.Errorf("%+v", got)
	}
	var sealed []byte
	query(t, w.database, `UPDATE enqueued SET due_at = now() RETURNING effect_context`, &sealed)
	w.awaitState(t, requestKey, intent.Completed)
	var recorded []byte
	query(t, w.database, `SELECT effect_context FROM intents`, &recorded)
	if string(recorded) != string(sealed) {
		t.Errorf("the intent has the context %s, and %s was sealed", recorded, sealed)
	}
	w.provider.effects(t, 1)
}

func canonical(t testing.TB, text string) []byte {
	t.Helper()
	c, err := intent.Canonicalize([]byte(text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return c
}
