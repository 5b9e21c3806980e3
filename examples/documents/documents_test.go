package documents_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"testing"
	"time"

	"writ/activities"
	"writ/examples/documents"
	"writ/intent"
	"writ/internal/invocation"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// A worker is given its tools, and each tool its service.
func Example() {
	registry, err := tools.NewRegistry(
		documents.NewDelete(&service{}),
		documents.NewPurge(documents.Records{Table: "records"}),
	)
	if err != nil {
		log.Fatal(err)
	}
	for _, tool := range registry.All() {
		fmt.Println(tool.Spec.Name, tool.Spec.Class())
	}
	// Output:
	// records.delete keyed
	// records.purge transactional
}

// service is a document service that remembers what it was asked.
type service struct {
	asked []documents.Deletion
	err   error
}

func (s *service) Delete(_ context.Context, d documents.Deletion) (documents.Receipt, error) {
	s.asked = append(s.asked, d)
	return documents.Receipt{Number: "del-1"}, s.err
}

var ada = intent.EffectContext{Principal: "ada", Tenant: "acme", AuthenticationSource: intent.AuthenticatedDirect}

func TestTheServiceIsToldWhoAsksByTheEffectContextAndTheKeyByTheInvocation(t *testing.T) {
	t.Parallel()
	inv := invocation.New(invocation.Fields{
		Tool: "records.delete", Payload: []byte(`{"document_id":"doc-7"}`), Context: ada, IdempotencyKey: "key-1", Attempt: 1,
		SendBy: time.Now().Add(time.Minute),
	})
	s := &service{}
	result, err := documents.NewDelete(s).Invoke(t.Context(), inv)
	want := documents.Deletion{Tenant: "acme", Principal: "ada", DocumentID: "doc-7", IdempotencyKey: "key-1"}
	if err != nil || len(s.asked) != 1 || s.asked[0] != want || result.EffectID != "del-1" {
		t.Errorf("asked %+v, answered %+v, %v", s.asked, result, err)
	}
	for answer, outcome := range map[error]intent.Outcome{
		documents.ErrNotFound:  intent.NotApplied,
		documents.ErrForbidden: intent.NotApplied,
		errors.New("EOF"):      intent.Unknown,
	} {
		_, err := documents.NewDelete(&service{err: answer}).Invoke(t.Context(), inv)
		if f := tools.Classify(intent.Keyed, err); f.Outcome != outcome {
			t.Errorf("%v is told as %v", answer, f)
		}
	}
}

func TestARecordIsDeletedTogetherWithItsReceiptAndNeverAlone(t *testing.T) {
	t.Parallel()
	address := pgtest.Schema(t)
	if err := outbox.Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	pool, _ := pgtest.Pool(t, address)
	_, err := pool.Exec(t.Context(), `CREATE TABLE records (tenant text, id text, title text, PRIMARY KEY (tenant, id));
		INSERT INTO records VALUES ('acme', 'doc-7', 'Terms'), ('acme', 'doc-8', 'More terms')`)
	if err != nil {
		t.Fatal(err)
	}
	registry, err := tools.NewRegistry(documents.NewPurge(documents.Records{Table: "records"}))
	if err != nil {
		t.Fatal(err)
	}
	quiet := slog.New(slog.DiscardHandler)
	engine := activities.New(activities.Config{
		Store: outbox.New(pool), Registry: registry, Policy: policy.NewEngine(nil, quiet), TaskQueue: "writ", Worker: "worker-1", Logger: quiet,
	})
	for _, c := range []struct {
		document string
		state    intent.State
		answer   string
	}{
		{"doc-7", intent.Completed, `{"document_id":"doc-7","title":"Terms"}`},
		{"doc-9", intent.Invoking, ""}, // a definite failure, for the journal to end
	} {
		in := activities.Input{Request: &activities.Request{
			Tool: "records.purge", RequestKey: intent.RequestKey(c.document), Context: ada, Detached: true,
			Payload: json.RawMessage(`{"document_id":"` + c.document + `"}`),
		}}
		in.IntentID = intent.IntentID(ada.Tenant, in.Request.RequestKey)
		p, err := engine.Authorize(t.Context(), in)
		if err == nil {
			p, err = engine.Persist(t.Context(), activities.PersistInput{Input: in, Decision: p.Decision})
		}
		if err != nil {
			t.Fatal(err)
		}
		out, err := engine.Invoke(t.Context(), activities.InvokeInput{IntentID: in.IntentID, Tool: "records.purge", Version: p.Version})
		if err != nil || out.Progress.State != c.state {
			t.Errorf("%s: %+v, %v", c.document, out, err)
		}
		_, body, err := outbox.New(pool).Result(t.Context(), in.IntentID)
		if err != nil || string(body) != c.answer {
			t.Errorf("%s: the answer is %s, %v", c.document, body, err)
		}
	}
	var left, receipts int
	const count = `SELECT (SELECT count(*) FROM records), (SELECT count(*) FROM receipts)`
	if err := pool.QueryRow(t.Context(), count).Scan(&left, &receipts); err != nil || left != 1 || receipts != 1 {
		t.Errorf("%d records are left and there are %d receipts, %v", left, receipts, err)
	}
}
