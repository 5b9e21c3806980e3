package main

import (
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"writ"
	"writ/intent"
)

// enqueue enqueues a capture as a host does.
func (r records) enqueue(t *testing.T, key string) writ.Enqueued {
	t.Helper()
	var enqueued writ.Enqueued
	err := pgx.BeginFunc(t.Context(), r.pool, func(tx pgx.Tx) (err error) {
		request := writ.Request{Tool: "payments.capture", RequestKey: key, Principal: "ada"}
		enqueued, err = writ.Enqueue(t.Context(), tx, request, writ.EnqueueOptions{})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return enqueued
}

// reject parks what is enqueued, as a dispatcher does.
func (r records) reject(t *testing.T, enqueued writ.Enqueued) {
	t.Helper()
	_, err := r.pool.Exec(t.Context(), `UPDATE enqueued SET due_at = NULL, parked_at = writ_now(), tries = 2,
		error_code = 'input_schema_violation', error = 'amount is missing' WHERE id = $1`, enqueued.ID[:])
	if err != nil {
		t.Fatal(err)
	}
}

func TestAnEnqueuedRequestIsShownWithWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	enqueued := store.enqueue(t, "order-1")
	at := []string{"--database-url", store.url}
	get := append([]string{"intent", "get", enqueued.ID.String()}, at...)
	r := command(t, get...)
	for _, part := range []string{"submitted", "nothing was sent yet; it is started when it is due", "payments.capture\n", "not yet", "(enqueued)"} {
		if r.status != 0 || !strings.Contains(r.stdout, part) {
			t.Errorf("status %d, %s: %q is not in\n%s", r.status, r.stderr, part, r.stdout)
		}
	}
	store.reject(t, enqueued)
	r = command(t, get...)
	for _, part := range []string{"2 times; input_schema_violation: amount is missing", "stop (parked)", "it waits for somebody to have it tried again"} {
		if !strings.Contains(r.stdout, part) {
			t.Errorf("%q is not in\n%s", part, r.stdout)
		}
	}
	if r = command(t, append([]string{"intent", "watch", enqueued.ID.String()}, at...)...); r.status != statusOf(intent.Errorf(intent.CodeInputSchema, "")) || !strings.Contains(r.stderr, "amount is missing") {
		t.Errorf("watch: status %d, %s", r.status, r.stderr)
	}
	if r = command(t, append([]string{"intent", "list", "--state", "submitted"}, at...)...); r.status != 0 || !strings.Contains(r.stdout, "order-1") || !strings.Contains(r.stdout, "stop (parked)") {
		t.Errorf("list: status %d, %s\n%s", r.status, r.stderr, r.stdout)
	}
	if r = command(t, append([]string{"intent", "cancel", enqueued.ID.String()}, at...)...); r.status != statusConflict || !strings.Contains(r.stderr, "not_dispatched") {
		t.Errorf("cancel: status %d, %s", r.status, r.stderr)
	}
}

func TestAParkedRequestIsListedRetriedAndDropped(t *testing.T) {
	t.Parallel()
	store := newOutbox(t)
	first, second := store.enqueue(t, "order-1"), store.enqueue(t, "order-2")
	store.reject(t, first)
	at := []string{"--database-url", store.url}
	run := func(args ...string) ran { return command(t, append(append([]string{"enqueued"}, args...), at...)...) }

	if r := run("list", "--limit", "1"); r.status != 0 || !strings.Contains(r.stdout, "order-2") || !strings.Contains(r.stderr, "writ enqueued list --limit=1 --after=") {
		t.Errorf("list: status %d, %s\n%s", r.status, r.stderr, r.stdout)
	}
	if r := run("list", "--parked"); r.status != 0 || strings.Contains(r.stdout, "order-2") || !strings.Contains(r.stdout, "amount is missing") {
		t.Errorf("list of what is parked: status %d, %s\n%s", r.status, r.stderr, r.stdout)
	}
	if r := run("retry", first.ID.String(), second.ID.String(), "--principal", "eve", "--note", "mended"); r.status != 0 || strings.Count(r.stdout, "retried") != 2 {
		t.Errorf("retry: status %d, %s\n%s", r.status, r.stderr, r.stdout)
	}
	if r := run("list", "--parked"); r.stdout != "nothing is enqueued\n" {
		t.Errorf("after the retry: %s", r.stdout)
	}
	if r := run("drop", second.ID.String(), "--principal", "eve", "--role", "operator"); r.status != 0 || !strings.Contains(r.stdout, "dropped") {
		t.Errorf("drop: status %d, %s\n%s", r.status, r.stderr, r.stdout)
	}
	if r := run("retry", first.ID.String(), second.ID.String()); r.status != statusRefused || !strings.Contains(r.stderr, "eve dropped") || !strings.Contains(r.stderr, first.ID.String()) {
		t.Errorf("retry of what was dropped: status %d, %s", r.status, r.stderr)
	}
	if r := run("drop", intent.IntentID("acme", "nobody").String()); r.status != statusUsage {
		t.Errorf("drop of nothing: status %d, %s", r.status, r.stderr)
	}
}
