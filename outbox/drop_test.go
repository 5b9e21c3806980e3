package outbox_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"writ/intent"
	"writ/outbox"
)

var withdrawn = outbox.Decider{Principal: "ada", Note: "the order was withdrawn"}

func TestADroppedRequestNeverBecomesAnIntent(t *testing.T) {
	t.Parallel()
	b := start(t)
	mine := propose("order-7", keyed())
	if err := b.enqueue(t, requested(mine), true); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		dropped, err := b.Drop(t.Context(), mine.ID(), withdrawn)
		if err != nil || dropped.DroppedAt.IsZero() || !dropped.DueAt.IsZero() || dropped.Decider.Principal != "ada" || dropped.Step().Reason != intent.ReasonDropped {
			t.Fatalf("%+v, %v", dropped, err)
		}
	}
	for what, ask := range map[string]func() error{
		"insert": func() error { _, err := b.Insert(t.Context(), mine); return err },
		"spec": func() error {
			_, err := b.SpecFor(t.Context(), mine.RequestKey, requested(mine).Action, mine.EffectContext)
			return err
		},
		"retry":   func() error { _, err := b.Retry(t.Context(), mine.ID(), withdrawn); return err },
		"confirm": func() error { _, err := b.Confirm(t.Context(), mine.ID(), withdrawn); return err },
		"enqueue": func() error { return b.enqueue(t, requested(mine), true) },
	} {
		if err := ask(); intent.CodeOf(err) != intent.CodeDropped {
			t.Errorf("%s: %v", what, err)
		}
	}
}

func TestAnIntentIsNotDroppedAndTheRequestOfAnotherActionIs(t *testing.T) {
	t.Parallel()
	b := start(t)
	mine := propose("order-7", keyed())
	if err := b.enqueue(t, requested(mine), true); err != nil {
		t.Fatal(err)
	}
	b.insert(t, mine)
	if _, err := b.Drop(t.Context(), mine.ID(), withdrawn); intent.CodeOf(err) != intent.CodeAlreadyDispatched {
		t.Errorf("of its own intent: %v", err)
	}
	// A host and a caller that were at it at the same moment.
	b.exec(t, `UPDATE enqueued SET payload = '{}'`)
	if _, err := b.Drop(t.Context(), mine.ID(), withdrawn); err != nil {
		t.Errorf("of another action: %v", err)
	}
	direct := propose("order-8", keyed())
	b.insert(t, direct)
	for what, decide := range map[string]func(intent.ID) error{
		"drop":  func(id intent.ID) error { _, err := b.Drop(t.Context(), id, withdrawn); return err },
		"retry": func(id intent.ID) error { _, err := b.Retry(t.Context(), id, withdrawn); return err },
	} {
		if err := decide(direct.ID()); intent.CodeOf(err) != intent.CodeAlreadyDispatched {
			t.Errorf("%s of what was never enqueued: %v", what, err)
		}
		if err := decide(intent.IntentID("acme", "nobody")); intent.CodeOf(err) != intent.CodeIntentNotFound {
			t.Errorf("%s of nothing: %v", what, err)
		}
	}
}

func TestOfADropAndAnIntentAtTheSameMomentOneIsFirst(t *testing.T) {
	t.Parallel()
	b := start(t)
	for i := range 40 {
		mine := propose(fmt.Sprintf("order-%d", i), keyed())
		if err := b.enqueue(t, requested(mine), true); err != nil {
			t.Fatal(err)
		}
		var inserted, dropped error
		var both sync.WaitGroup
		begin := make(chan struct{})
		both.Go(func() { <-begin; _, inserted = b.Insert(t.Context(), mine) })
		both.Go(func() { <-begin; _, dropped = b.Drop(t.Context(), mine.ID(), withdrawn) })
		close(begin)
		both.Wait()
		switch {
		case inserted == nil && intent.CodeOf(dropped) == intent.CodeAlreadyDispatched:
		case dropped == nil && intent.CodeOf(inserted) == intent.CodeDropped:
		default:
			t.Errorf("the insertion says %v, the drop %v", inserted, dropped)
		}
	}
}

// The snapshot of the insert is older than the request, so it does not see what is dropped.
func TestARequestIsNotDroppedWhoseIntentWasBegunBeforeItWasEnqueued(t *testing.T) {
	t.Parallel()
	b := start(t)
	mine := propose("order-7", keyed())
	gate := b.begin(t, b.linger(t))
	inserted, dropped := make(chan error, 1), make(chan error, 1)
	go func() { _, err := b.Insert(t.Context(), mine); inserted <- err }()
	b.awaitWaiting(t, "intents", 1)
	b.exec(t, `
		INSERT INTO enqueued (id, tenant, request_key, principal, tool, payload, effect_context, salt, fingerprint, traceparent, created_at, due_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, '', writ_now(), writ_now())`, mine.ID().String(), mine.Tenant, string(mine.RequestKey),
		mine.Principal, mine.Tool, mine.Payload, mine.EffectContext, mine.Salt[:], mine.Fingerprint[:])
	go func() { _, err := b.Drop(t.Context(), mine.ID(), withdrawn); dropped <- err }()
	b.awaitDrop(t, mine.ID())
	commit(t, gate)
	if err := <-inserted; err != nil {
		t.Error(err)
	}
	if err := <-dropped; intent.CodeOf(err) != intent.CodeAlreadyDispatched {
		t.Errorf("an intent was dropped: %v", err)
	}
}

func TestARetriedRequestIsDueAtOnceOrAtItsHostsTime(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	now, later := requested(propose("now", keyed())), requested(propose("later", keyed()))
	later.NotBefore = noon.Add(time.Hour)
	for want, e := range map[time.Time]outbox.Enqueued{noon: now, later.NotBefore: later} {
		if err := b.enqueue(t, e, true); err != nil {
			t.Fatal(err)
		}
		b.exec(t, `UPDATE enqueued SET due_at = NULL, parked_at = writ_now(), tries = 8, error_code = 'unknown_tool' WHERE request_key = $1`, string(e.RequestKey))
		retried, err := b.Retry(t.Context(), intent.IntentID("acme", e.RequestKey), withdrawn)
		if err != nil || !retried.DueAt.Equal(want) || !retried.ParkedAt.IsZero() || retried.Tries != 0 || retried.Decider.Principal != "ada" || retried.Decider.Note != withdrawn.Note {
			t.Errorf("%+v, %v", retried, err)
		}
	}
}

func TestTheBacklogIsWhatIsDueAndWhatIsParked(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	ids := map[string]intent.ID{}
	for _, name := range []string{"due", "parked", "dropped", "intent", "later"} {
		p := propose(name, keyed())
		e := requested(p)
		if name == "later" {
			e.NotBefore = noon.Add(time.Hour)
		}
		if err := b.enqueue(t, e, true); err != nil {
			t.Fatal(err)
		}
		ids[name] = p.ID()
		if name == "intent" {
			b.insert(t, p)
		}
	}
	if _, err := b.Drop(t.Context(), ids["dropped"], withdrawn); err != nil {
		t.Fatal(err)
	}
	b.exec(t, `UPDATE enqueued SET due_at = NULL, parked_at = writ_now(), error_code = 'unknown_tool' WHERE request_key = 'parked'`)
	b.exec(t, `UPDATE enqueued SET error_code = 'not_yet_known', due_at = due_at + interval '5 minutes' WHERE request_key = 'due'`)
	b.setClock(t, noon.Add(2*time.Minute))
	want := outbox.Backlog{
		Due: 1, Waited: 2 * time.Minute, FirstDue: ids["due"], DueError: "not_yet_known",
		Parked: 1, FirstParked: ids["parked"], ParkedFor: intent.CodeUnknownTool,
	}
	for who, read := range map[string]func(context.Context) (outbox.Backlog, error){
		"the store": b.Store.Backlog, "the inspector": inspector(t, b.url).Backlog,
	} {
		if got, err := read(t.Context()); err != nil || got != want {
			t.Errorf("%s: %+v, %v, want %+v", who, got, err, want)
		}
	}
}
