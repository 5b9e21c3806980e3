package integration

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/internal/killpoint"
)

// ambush is an armed kill point of one worker.
type ambush struct {
	point killpoint.Point
	file  string
}

func newAmbush(t testing.TB, point killpoint.Point) ambush {
	return ambush{point: point, file: filepath.Join(t.TempDir(), "reached")}
}

// environment arms the point in a worker.
func (a ambush) environment() []string {
	return []string{killpoint.EnvPoint + "=" + string(a.point), killpoint.EnvFile + "=" + a.file}
}

// await returns when as many different intents as wanted have reached the point. They go no
// further.
func (a ambush) await(t testing.TB, want int) {
	t.Helper()
	a.awaitAll(t, func(arrived map[string]bool) []string {
		if len(arrived) < want {
			return []string{fmt.Sprintf("%d more", want-len(arrived))}
		}
		return nil
	})
}

// awaitAll returns when everybody who is waited for has reached the point: missing says who has
// not, given the ids or keys that have arrived.
func (a ambush) awaitAll(t testing.TB, missing func(arrived map[string]bool) []string) {
	t.Helper()
	eventually(t, "all reach "+string(a.point), func(context.Context) error {
		content, err := os.ReadFile(a.file)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		arrived := map[string]bool{}
		for _, label := range strings.Fields(string(content)) {
			arrived[label] = true
		}
		if awaited := missing(arrived); len(awaited) > 0 {
			return fmt.Errorf("%d have, and not %s", len(arrived), strings.Join(awaited, ", "))
		}
		return nil
	})
}

// killAt asks for the action of a worker that is killed at the point.
func (w *world) killAt(t *testing.T, point killpoint.Point, a action) (caller *process) {
	t.Helper()
	trap := newAmbush(t, point)
	doomed := w.startWorker(t, trap.environment()...)
	caller = w.ask(t, a, requestKey)
	trap.await(t, 1)
	doomed.kill()
	return caller
}
