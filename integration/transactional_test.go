package integration

import (
	"syscall"
	"testing"

	"writ/intent"
	"writ/internal/killpoint"
)

var (
	store = action{"documents.store", `{"document_id":"doc_17","title":"Terms","content":"All of them."}`}
	purge = action{"documents.purge", `{"document_id":"doc_17"}`}
)

// keepDocument puts the document there, and a book of everything that is deleted beside it.
func (w *world) keepDocument(t testing.TB) {
	t.Helper()
	query(t, w.database, `
		INSERT INTO documents (tenant, id, title, content, created_by, created_at)
		VALUES ('`+w.name+`', 'doc_17', 'Terms', 'All of them.', 'ada', now()), ('other', 'doc_17', 'Theirs', '', 'bob', now());
		CREATE TABLE deletions (tenant text, id text);
		CREATE FUNCTION book() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN INSERT INTO deletions VALUES (OLD.tenant, OLD.id); RETURN NULL; END $$;
		CREATE TRIGGER book AFTER DELETE ON documents FOR EACH ROW EXECUTE FUNCTION book()`)
}

// wantOneDeletion looks at what is in the database, and not at what is said of it.
func (w *world) wantOneDeletion(t testing.TB) {
	t.Helper()
	var deletions, kept, receipts int
	query(t, w.database, `SELECT (SELECT count(*) FROM deletions), (SELECT count(*) FROM documents), (SELECT count(*) FROM receipts)`,
		&deletions, &kept, &receipts)
	if deletions != 1 || kept != 1 || receipts != 1 {
		t.Errorf("%d deletions, %d documents left, %d receipts; want one of each", deletions, kept, receipts)
	}
}

func TestADocumentIsPurgedOnceWithOneReceiptWhereverItsWorkerIsKilled(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		point    killpoint.Point
		attempts int
	}{
		{killpoint.BeforePersist, 1},
		{killpoint.AfterPersist, 1},
		{killpoint.BeforeClaim, 1},
		{killpoint.BeforeSend, 2},
		{killpoint.InTransaction, 2},
		{killpoint.AfterTransaction, 1},
	} {
		t.Run(string(c.point), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.keepDocument(t)
			caller := w.killAt(t, c.point, purge)
			w.startWorker(t)
			got := caller.outcome(t)
			r := got.completed(t)
			w.wantOneDeletion(t)
			if len(r.Attempts) != c.attempts {
				t.Fatalf("there were %d attempts, want %d: %+v", len(r.Attempts), c.attempts, r.Attempts)
			}
			for i, a := range r.Attempts {
				want := intent.NotApplied
				if i == len(r.Attempts)-1 {
					want = intent.Applied
				}
				if a.Outcome != want {
					t.Errorf("attempt %d is %s (%s), want %s", a.Number, a.Outcome, a.Code, want)
				}
			}
			const answer = `{"document_id":"doc_17","title":"Terms","size":12}`
			if got.Answer == nil || string(got.Answer.JSON) != answer {
				t.Errorf("the answer is %+v, want %s", got.Answer, answer)
			}
		})
	}
}

// A frozen worker keeps its connection, and with it the lock of the row, until PostgreSQL ends
// the pause in its transaction.
func TestADocumentIsPurgedOnceWhenItsWorkerFreezesInTheTransaction(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.keepDocument(t)
	trap := newAmbush(t, killpoint.InTransaction)
	frozen := w.startWorker(t, trap.environment()...)
	caller := w.ask(t, purge, requestKey)
	trap.await(t, 1)
	frozen.signal(syscall.SIGSTOP)
	w.startWorker(t)
	r := caller.outcome(t).completed(t)
	w.wantOneDeletion(t)
	if len(r.Attempts) != 2 || r.Attempts[0].Code != "fenced" || r.Attempts[0].Outcome != intent.NotApplied {
		t.Errorf("the attempts are %+v", r.Attempts)
	}
	frozen.kill()
	w.wantOneDeletion(t)
}

func TestADocumentIsStoredThenPurgedAndASecondPurgeSaysThatItIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	w.ask(t, store, "store").outcome(t).completed(t)
	w.ask(t, purge, "purge").outcome(t).completed(t)
	again := w.ask(t, purge, "again").outcome(t)
	if r := again.receipt(t, intent.Failed, intent.NotApplied); again.Error.Effect != intent.NotApplied || r.Attempts[0].Code != "document_not_found" {
		t.Errorf("the second purge ends with %+v and %+v", again.Error, r.Attempts)
	}
}
