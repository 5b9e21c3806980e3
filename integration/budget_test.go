package integration

import (
	"testing"
)

// The budget of an intent that succeeds at once. The evidence of a side-effectful tool is
// a fourth write, whose commit does not wait for the disk.
func TestACleanRunStaysWithinItsBudgetOfFlushedCommitsAndEvents(t *testing.T) {
	t.Parallel()
	database := startStatementLog(t)
	for _, c := range []struct {
		action
		flushed, relaxed, events int
	}{
		{capture, 3, 1, 18},
		{notify, 3, 1, 18},
		{echo, 1, 0, 18},
	} {
		t.Run(c.tool, func(t *testing.T) {
			logged := *shared
			logged.DatabaseURL = database.url
			w := worldOn(t, &logged)
			// Its looks for other work would be counted where one is cut by a mark.
			w.startWorkerWith(t, []string{"--recover-every", "0", "--dispatch-every", "0"})

			before := database.mark(t)
			got := w.ask(t, c.action, requestKey).outcome(t)
			after := database.mark(t)

			got.completed(t)
			commits := database.commits(t, "writ", before, after)
			flushed, relaxed := 0, 0
			for _, commit := range commits {
				if commit.flushed {
					flushed++
				} else {
					relaxed++
				}
			}
			if flushed > c.flushed || relaxed > c.relaxed {
				t.Errorf("%d flushed and %d relaxed commits, want at most %d and %d: %v", flushed, relaxed, c.flushed, c.relaxed, commits)
			}
			// PostgreSQL's own count: nothing wrote that the log does not show.
			if took := int(after.xid - before.xid); took != len(commits) {
				t.Errorf("%d transactions wrote, the log shows %d: %v", took, len(commits), commits)
			}
			if flushed == 0 {
				t.Error("the log shows no commit at all")
			}
			events := len(w.history(t).Events)
			if events > c.events {
				t.Errorf("the history has %d events, want at most %d", events, c.events)
			}
			t.Logf("%s: %d flushed commits, %d relaxed, %d events", c.tool, flushed, relaxed, events)
		})
	}
}
