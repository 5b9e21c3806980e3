package chaos

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"writ"
	"writ/intent"
)

// policies let everything run, and want people to confirm captures as portions says.
const policies = `
permit (principal, action == Action::"tool.execute", resource);
@confirm("1")
forbid (principal, action == Action::"tool.execute", resource == Tool::"payments.capture")
when { context.payload.amount.greaterThan(decimal("100.00")) };
@confirm("2")
forbid (principal, action == Action::"tool.execute", resource == Tool::"payments.capture")
when { context.payload.amount.greaterThan(decimal("1000.00")) };
`

// writePolicies writes the policies of the workers and returns their folder.
func (w *world) writePolicies() (folder string, err error) {
	folder = filepath.Join(w.folder, "policies")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return "", err
	}
	return folder, os.WriteFile(filepath.Join(folder, "confirm.cedar"), []byte(policies), 0o600)
}

// confirmers are the people who confirm what waits, each for themselves.
var confirmers = []string{"confirmer-1", "confirmer-2"}

// confirmPause is the time between two looks of a confirmer.
const confirmPause = 500 * time.Millisecond

// confirmAll lets everybody confirm whatever waits, until ctx ends. What fails is tried again at the
// next look, and that somebody else was faster is no failure.
func (w *world) confirmAll(ctx context.Context) {
	var all sync.WaitGroup
	for _, who := range confirmers {
		all.Go(func() {
			for ctx.Err() == nil {
				w.confirmOnce(ctx, writ.Decider{Principal: who})
				wait(ctx, confirmPause)
			}
		})
	}
	all.Wait()
}

// confirmOnce confirms one page of what waits. Each decision may wait for a Temporal that is away, so
// they do not wait for each other.
func (w *world) confirmOnce(ctx context.Context, by writ.Decider) {
	looking, cancel := context.WithTimeout(ctx, answerPatience)
	defer cancel()
	page, err := w.client.List(looking, writ.ListFilter{States: []intent.State{intent.AwaitingConfirmation}})
	if err != nil {
		return
	}
	var all sync.WaitGroup
	for _, v := range page.Intents {
		all.Go(func() { _, _ = w.client.Confirm(looking, v.ID, by) })
	}
	all.Wait()
}
