package chaos

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"writ/cmd/writ-dev/chaos/check"
	"writ/cmd/writ-dev/stack"
)

const (
	// lookEvery is the time between two looks whether everything has come to rest.
	lookEvery = time.Second
	// restPatience bounds the time that everything has to come to rest. What has not by then
	// is lost, and the judge says so.
	restPatience = 10 * time.Minute
	// closePatience is how long the workflows of ended intents may take to close.
	closePatience = 30 * time.Second
)

// awaitRest returns when every caller has its answer and no intent has anything left to be
// done, or when ctx ends.
func (w *world) awaitRest(ctx context.Context, load *submission) {
	for ctx.Err() == nil {
		asked, answered := load.progress()
		open, err := w.openIntents(ctx)
		if err == nil && asked == answered && len(open) == 0 {
			return
		}
		wait(ctx, lookEvery)
	}
}

// openIntents counts the intents for which something is still to be done, by state.
func (w *world) openIntents(ctx context.Context) (map[string]int, error) {
	connection, err := pgx.Connect(ctx, w.database.url())
	if err != nil {
		return nil, err
	}
	defer connection.Close(ctx)
	rows, err := connection.Query(ctx, "SELECT state, count(*) FROM intents WHERE due_at IS NOT NULL GROUP BY state")
	if err != nil {
		return nil, err
	}
	open := map[string]int{}
	var state string
	var count int
	_, err = pgx.ForEachRow(rows, []any{&state, &count}, func() error {
		open[state] = count
		return nil
	})
	return open, err
}

func (w *world) describeOpen(ctx context.Context) string {
	open, err := w.openIntents(ctx)
	if err != nil {
		return "PostgreSQL is away"
	}
	return fmt.Sprintf("open by state: %v", open)
}

// receiptDigests reads the receipts that are there now.
func (w *world) receiptDigests(ctx context.Context) (map[check.ReceiptID]string, error) {
	connection, err := pgx.Connect(ctx, w.database.url())
	if err != nil {
		return nil, err
	}
	defer connection.Close(ctx)
	return check.ReadReceiptDigests(ctx, connection)
}

// collect reads everything that the judge looks at.
func (w *world) collect(ctx context.Context, evidence *check.Evidence) error {
	connection, err := pgx.Connect(ctx, w.database.url())
	if err != nil {
		return fmt.Errorf("read the database: %w", err)
	}
	defer connection.Close(ctx)
	if evidence.Workflows, err = w.closedWorkflows(ctx); err != nil {
		return err
	}
	if err := check.ReadHistories(ctx, w.temporal, evidence.Workflows); err != nil {
		return err
	}
	if err := check.ReadDatabase(ctx, connection, evidence); err != nil {
		return err
	}
	if err := w.provider.collect(ctx); err != nil {
		return err
	}
	requests := filepath.Join(w.folder, "requests.jsonl")
	if err := w.provider.write(requests); err != nil {
		return err
	}
	if evidence.Requests, err = readFile(requests, check.ReadRequests); err != nil {
		return err
	}
	evidence.Ledger, err = readFile(w.ledger(), check.ReadLedger)
	return err
}

// closedWorkflows lists the workflows when none runs any more, or after a while those that do.
func (w *world) closedWorkflows(ctx context.Context) ([]check.Workflow, error) {
	closing, cancel := context.WithTimeout(ctx, closePatience)
	defer cancel()
	for {
		workflows, err := check.ReadWorkflows(ctx, w.temporal, stack.Namespace)
		if err == nil && !slices.ContainsFunc(workflows, func(one check.Workflow) bool { return one.Running }) || closing.Err() != nil {
			return workflows, err
		}
		wait(closing, lookEvery)
	}
}

func readFile[T any](path string, read func(io.Reader) ([]T, error)) ([]T, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	return read(file)
}

// keepEvidence writes what no other file of the folder has.
func (w *world) keepEvidence(evidence check.Evidence, report Report) error {
	var failures []error
	for name, content := range map[string]any{
		"asked.json": evidence.Asked, "faults.json": evidence.Faults,
		"workflows.json": evidence.Workflows, "report.json": report,
	} {
		text, err := json.MarshalIndent(content, "", "\t")
		if err == nil {
			err = os.WriteFile(filepath.Join(w.folder, name), text, 0o600)
		}
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}
