package integration

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"writ"
	"writ/intent"
	"writ/internal/killpoint"
	"writ/internal/sandbox"
	"writ/telemetry"
)

// matrixPoint runs all cells of one kill point in one world: they meet at the point, one
// SIGKILL ends their worker, and another worker ends them all.
type matrixPoint struct {
	*world
	point  killpoint.Point
	cells  []cell
	client *writ.Client
}

func newMatrixPoint(t *testing.T, point killpoint.Point) *matrixPoint {
	t.Helper()
	m := &matrixPoint{world: newWorld(t), point: point, cells: cellsAt(point)}
	if len(m.cells) == 0 {
		t.Fatalf("no cell shows anything at %s", point)
	}
	m.client = m.dial(t)
	query(t, m.database, matrixTable)
	for _, c := range m.cells {
		if fault := c.answer.fault; fault.Fault != "" && c.class.where == provided {
			fault.MatchBody = `"` + c.mark() + `"`
			m.provider.fault(t, fault)
		}
	}
	return m
}

// meetAt tests the cells of a point, on a busy machine in another world once or twice more.
func meetAt(t *testing.T, point killpoint.Point) {
	const tries = 3
	for range tries {
		if newMatrixPoint(t, point).test(t) {
			return
		}
	}
	t.Errorf("the cells did not meet in time in any of %d tries", tries)
}

// test runs the cells and judges their ends. It returns false, and shows nothing, if the machine
// was too busy for the cells to meet before the first of their attempts was over.
func (m *matrixPoint) test(t *testing.T) (met bool) {
	began := time.Now()
	var submitted func() error
	if m.point == undisturbed {
		m.startMatrixWorker(t)
		submitted = m.submit(t)
	} else {
		if submitted, met = m.ambush(t); !met {
			return false
		}
		m.startMatrixWorker(t)
	}
	m.awaitRest(t, submitted)
	progress("fault matrix: %d cells at %s rest after %.0f s", len(m.cells), m.point, time.Since(began).Seconds())
	m.judgeAll(t)
	return true
}

// meeting lets the cells of one point meet at a time.
var meeting sync.Mutex

// ambush submits the cells, waits until all of them are at the point, and kills their worker.
func (m *matrixPoint) ambush(t *testing.T) (submitted func() error, met bool) {
	trap := newAmbush(t, m.point)
	doomed := m.startMatrixWorker(t, trap.environment()...)
	meeting.Lock()
	defer meeting.Unlock()
	began := time.Now()
	submitted = m.submit(t)
	trap.awaitAll(t, m.missing)
	if m.point == killpoint.DuringCall {
		m.provider.await(t, sandbox.StateHanging, len(m.cells)) // what acts before it hangs has acted
	}
	took := time.Since(began)
	doomed.kill()
	if took > matrixTimeout {
		progress("fault matrix: %d cells at %s took %.0f s to meet, longer than an attempt may last", len(m.cells), m.point, took.Seconds())
		return submitted, false
	}
	return submitted, true
}

// startMatrixWorker starts this test program as a worker.
func (m *matrixPoint) startMatrixWorker(t *testing.T, environment ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	environment = append(append(m.environment(), matrixVariable+"=1"), environment...)
	// Transactions that meet at a point keep their connections.
	environment = append(environment, "DATABASE_URL="+m.database+"&pool_max_conns=20")
	p := start(t, "matrix worker", self, environment)
	if _, err := p.readyLine(); err != nil {
		t.Fatal(err)
	}
	return p
}

// mark names the cell in the payload, so that the provider and the judge know it.
func (c cell) mark() string {
	return strings.NewReplacer("/", ":", "matrix.", "").Replace(c.name())
}

// trace is the cell's trace, by which the judge knows the requests that the provider received
// for it, whatever key they carry.
func (c cell) trace() string {
	sum := sha256.Sum256([]byte(c.mark()))
	return hex.EncodeToString(sum[:16])
}

func (c cell) request(tenant string) (writ.Request, error) {
	payload, err := json.Marshal(matrixPayload{
		PaymentID: c.mark(), AccountID: c.mark(), Recipient: c.mark(), Amount: "29.90", Currency: "EUR", Body: "hello",
		Says: c.answer.says, Final: c.answer.final,
	})
	return writ.Request{Tool: c.class.tool, Payload: payload, RequestKey: c.mark(), Tenant: tenant, Principal: "shop"}, err
}

func (m *matrixPoint) id(c cell) intent.ID {
	return intent.IntentID(m.name, intent.RequestKey(c.mark()))
}

// missing lists the cells that have not arrived at the point.
func (m *matrixPoint) missing(arrived map[string]bool) (names []string) {
	for _, c := range m.cells {
		key := intent.DeriveKey(m.name, c.class.tool, intent.RequestKey(c.mark()), 1)
		if !arrived[m.id(c).String()] && !arrived[string(key)] {
			names = append(names, c.name())
		}
	}
	return names
}

// submit asks for every cell at once, detached. What is returned waits until all of them were
// accepted, which may need the second worker.
func (m *matrixPoint) submit(t *testing.T) (accepted func() error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 2*patience)
	var all sync.WaitGroup
	refused := make([]error, len(m.cells))
	for i, c := range m.cells {
		request, err := c.request(m.name)
		if err != nil {
			t.Fatal(err)
		}
		traced := telemetry.WithTraceparent(ctx, "00-"+c.trace()+"-"+c.trace()[:16]+"-01")
		all.Go(func() { _, refused[i] = m.client.Submit(traced, request) })
	}
	t.Cleanup(func() { cancel(); all.Wait() })
	return func() error { all.Wait(); return errors.Join(refused...) }
}

// awaitRest returns when every cell was accepted and has ended or is in doubt.
func (m *matrixPoint) awaitRest(t *testing.T, accepted func() error) {
	t.Helper()
	if err := accepted(); err != nil {
		t.Fatal(err)
	}
	for _, c := range m.cells {
		eventually(t, c.name()+" rests", func(ctx context.Context) error {
			got, err := m.client.Get(ctx, m.id(c))
			if err == nil && !got.State.Ended() && got.State != intent.InDoubt {
				err = fmt.Errorf("it is %s, and next is %+v; attempts: %+v", got.State, got.Next, got.Attempts)
			}
			return err
		})
	}
}
