package integration

import (
	"maps"
	"slices"
	"sync"
	"testing"

	"writ/intent"
	"writ/internal/killpoint"
	"writ/internal/sandbox"
	"writ/tools"
)

// The fault matrix is every class of effect, killed at every point, under every answer of
// its provider. It is three lists and two rules: end says what must come of a cell, and
// vacuous which cells show nothing that another one does not show. The judges are the
// provider's ledger, the requests that it received and the table of the transactional tool;
// Writ's own word is held against them.

// promise is what becomes of an effect whose outcome is unknown: the middle column of the
// table of guarantees.
type promise string

const (
	runAgain  promise = "run again"                           // nothing outside can have happened twice
	sendAgain promise = "send again with the same key"        // the provider performs a key once
	lookUp    promise = "look up, and send again if absent"   // the provider tells
	park      promise = "park in doubt, and never send again" // a person tells
)

// class is one row of the table of guarantees.
type class struct {
	tool string
	// declared is the tool, under its own name and with the limits of the matrix.
	declared declaration
	unknown  promise
	// where the effect happens.
	where place
	// looksUp says that the provider is asked what became of an answer that says nothing, and
	// storesErrors that it answers a key with the error that it had for it.
	looksUp, storesErrors bool
	// keyless says that its provider takes neither a key nor a reference.
	keyless bool
	// renews is when an attempt may go under another key than the one before it, if nothing
	// can have happened under the old one; empty for never.
	renews renewal
}

// renewal is what makes a key useless for another attempt.
type renewal string

const (
	forgotten renewal = "the provider may have forgotten it"
	spoilt    renewal = "the provider may have stored an error under it"
)

// place is where a tool's effect happens.
type place string

const (
	nowhere  place = "nowhere"           // a read
	database place = "Writ's database"   // in the transaction that ends the intent
	provided place = "with the provider" // the ledger knows
)

// classes is the table of guarantees. Each of them ends with one effect, or with none if the
// provider has refused; what is parked has at most one.
var classes = []class{
	{tool: "matrix.read", declared: readTool, unknown: runAgain, where: nowhere},
	{tool: "matrix.transactional", declared: transactionalTool, unknown: runAgain, where: database},
	{tool: "matrix.keyed", declared: captureTool(tools.KeyContract{Remembers: tools.WindowForever}, !lookups), unknown: sendAgain, where: provided},
	// An attempt may take as long as the key is remembered, so that a second one never fits.
	{tool: "matrix.keyed_window_passed", declared: captureTool(tools.KeyContract{Remembers: tools.Window(matrixTimeout)}, !lookups), unknown: park, renews: forgotten, where: provided},
	{tool: "matrix.keyed_window_unknown", declared: captureTool(tools.KeyContract{Remembers: tools.WindowUnknown}, !lookups), unknown: park, where: provided},
	{tool: "matrix.keyed_window_passed_looked_up", declared: captureTool(tools.KeyContract{Remembers: tools.Window(matrixTimeout)}, lookups), unknown: lookUp, looksUp: true, renews: forgotten, where: provided},
	{tool: "matrix.keyed_window_unknown_looked_up", declared: captureTool(tools.KeyContract{Remembers: tools.WindowUnknown}, lookups), unknown: lookUp, looksUp: true, where: provided},
	{tool: "matrix.keyed_stored_errors", declared: captureTool(tools.KeyContract{Remembers: tools.WindowForever, ReplaysErrors: true}, lookups), unknown: sendAgain, renews: spoilt, where: provided, looksUp: true, storesErrors: true},
	{tool: "matrix.reconcilable", declared: sampleTool("transfers.create"), unknown: lookUp, looksUp: true, where: provided},
	{tool: "matrix.opaque", declared: sampleTool("notifications.send"), unknown: park, keyless: true, where: provided},
}

// reply is what becomes of the first request of a cell. Every later one is answered as
// usual.
type reply struct {
	name string
	// fault makes the provider answer so; empty for the usual answer.
	fault sandbox.Fault
	// acts says that the effect happens.
	acts bool
	// says is what is known of the effect by whoever reads the answer.
	says intent.Outcome
	// final says that the answer forbids to try again.
	final bool
	// hangs says that there is no answer while the worker lives.
	hangs bool
	// cut says that the answer breaks off in its middle.
	cut bool
	// stored says that the provider keeps the answer for the key although it is an error.
	stored bool
}

var replies = []reply{
	{name: "success", acts: true, says: intent.Applied},
	{name: "act_then_drop", fault: sandbox.Fault{Fault: sandbox.FaultDropAfterAct}, acts: true, says: intent.Unknown},
	{name: "drop", fault: sandbox.Fault{Fault: sandbox.FaultDropBeforeAct}, says: intent.Unknown},
	{name: "act_then_504", fault: sandbox.Fault{Fault: sandbox.FaultGatewayTimeoutAfterAct}, acts: true, says: intent.Unknown},
	{name: "504", fault: sandbox.Fault{Fault: sandbox.FaultGatewayTimeout}, says: intent.Unknown},
	{name: "act_then_500", fault: sandbox.Fault{Fault: sandbox.FaultErrorAfterAct}, acts: true, says: intent.Unknown},
	{name: "broken_body", fault: sandbox.Fault{Fault: sandbox.FaultBrokenBody}, acts: true, says: intent.Applied, cut: true},
	{name: "429", fault: sandbox.Fault{Fault: sandbox.FaultRateLimit}, says: intent.NotApplied},
	{name: "402", fault: sandbox.Fault{Fault: sandbox.FaultRefuse}, says: intent.NotApplied, final: true},
	{name: "stored_500", fault: sandbox.Fault{Fault: sandbox.FaultStoredError}, says: intent.Unknown, stored: true},
	{name: "act_then_stored_500", fault: sandbox.Fault{Fault: sandbox.FaultErrorStoredAfterAct}, acts: true, says: intent.Unknown, stored: true},
	{name: "stored_402", fault: sandbox.Fault{Fault: sandbox.FaultStoredError, Status: 402, Code: sandbox.CodeCardDeclined}, says: intent.NotApplied, final: true, stored: true},
	{name: "hang", fault: sandbox.Fault{Fault: sandbox.FaultHangBeforeAct}, says: intent.Unknown, hangs: true},
	{name: "act_then_hang", fault: sandbox.Fault{Fault: sandbox.FaultHangAfterAct}, acts: true, says: intent.Unknown, hangs: true},
}

// sameWord reports whether both answers tell the same to a tool that has no provider.
func (r reply) sameWord(other reply) bool { return r.says == other.says && r.final == other.final }

// undisturbed, as a point, is a worker that is not killed.
const undisturbed killpoint.Point = "undisturbed"

// cell is one combination of the matrix.
type cell struct {
	class  class
	point  killpoint.Point
	answer reply
}

func (c cell) name() string { return c.class.tool + "/" + string(c.point) + "/" + c.answer.name }

// claimed reports whether the first attempt was granted when the worker died, sent whether
// its request had left, and recorded whether what it knew of the effect was.
func (c cell) claimed() bool { return reached(c.point, killpoint.BeforeSend) }
func (c cell) sent() bool    { return reached(c.point, killpoint.DuringCall) }
func (c cell) recorded() bool {
	return reached(c.point, killpoint.AfterTransaction) && c.point != killpoint.BeforeEvidence
}

// reached reports whether whoever is at a point has reached, or passed, another.
func reached(at, other killpoint.Point) bool {
	return slices.Index(killpoint.Points, at) >= slices.Index(killpoint.Points, other)
}

// open reports whether what the first attempt did was unknown when the worker was gone, or
// will be when the next worker has made it.
func (c cell) open() bool {
	return c.claimed() && !c.recorded() || c.answer.says == intent.Unknown
}

// keepsHalf reports whether the answer that breaks off is the one that is recorded: the first
// request that left was answered so, and the worker lived to record it.
func (c cell) keepsHalf() bool { return c.answer.cut && (!c.sent() || c.recorded()) }

// end is how a cell must end: the state, and how often the effect has happened.
func (c cell) end() (state intent.State, effects int) {
	switch {
	case c.open() && c.class.unknown == park:
		state = intent.InDoubt
		if c.answer.acts && (c.sent() || !c.claimed()) {
			effects = 1
		}
	case c.answer.final && c.nothingElse():
		state = intent.Failed
	default:
		state, effects = intent.Completed, 1
	}
	if c.class.where == nowhere {
		effects = 0
	}
	return state, effects
}

// nothingElse reports whether the attempt that is refused is the only one of which anything
// could be unknown: there is no other, a lookup has shown that it did nothing, or the refusal
// is stored and speaks of it, too.
func (c cell) nothingElse() bool {
	return !c.open() || c.answer.stored || c.point == killpoint.BeforeSend && c.class.looksUp
}

// vacuity is why a cell shows nothing that another one does not show.
type vacuity string

// The first three are about a class at a point, whatever is answered.
const (
	noTransaction vacuity = "the tool has no transaction"
	noCall        vacuity = "the tool calls nobody"
	noLookup      vacuity = "nothing is looked up"
	noProvider    vacuity = "the tool has no provider, and an earlier answer says the same"
	nothingStored vacuity = "the provider stores no errors"
	noAnswer      vacuity = "the worker dies while the request hangs, so there is no answer"
	hasHung       vacuity = "at its deadline a request that hangs is a lost answer, which comes here as well"
	nothingSent   vacuity = "nothing was sent, so the next worker meets the answer as an undisturbed one does"
	neverSent     vacuity = "nothing was sent and nothing will be, so nothing is answered"
	rolledBack    vacuity = "a transaction that failed is not committed"
	allRecorded   vacuity = "the transaction that made the effect has recorded and ended everything"
)

// vacuous says why the cell is left out; empty if it is not.
func (c cell) vacuous() vacuity {
	inTransaction := c.point == killpoint.InTransaction || c.point == killpoint.AfterTransaction
	inLookup := reached(c.point, killpoint.BeforeLookup) && !reached(c.point, killpoint.BeforeJournal)
	usual := c.answer.name == replies[0].name
	switch {
	case inTransaction && c.class.where != database:
		return noTransaction
	case c.point == killpoint.DuringCall && c.class.where != provided:
		return noCall
	case inLookup && !(c.answer.says == intent.Unknown && c.class.looksUp):
		return noLookup
	case c.class.where != provided && c.answer.name != replies[slices.IndexFunc(replies, c.answer.sameWord)].name:
		return noProvider
	case c.answer.stored && !c.class.storesErrors:
		return nothingStored
	case c.point == killpoint.DuringCall && !c.answer.hangs:
		return noAnswer
	case c.answer.hangs && c.point != killpoint.DuringCall && c.point != undisturbed:
		return hasHung
	case c.point != undisturbed && !c.claimed() && !usual:
		return nothingSent
	case c.point == killpoint.BeforeSend && c.class.unknown == park && !usual:
		return neverSent
	case c.point == killpoint.AfterTransaction && c.answer.says != intent.Applied:
		return rolledBack
	case reached(c.point, killpoint.BeforeEvidence) && c.class.where == database && c.answer.says == intent.Applied:
		return allRecorded
	}
	return ""
}

// matrixPoints are the kill points, after the worker that is left alone.
var matrixPoints = append([]killpoint.Point{undisturbed}, killpoint.Points...)

// cellsAt lists the cells of a point that show something.
func cellsAt(point killpoint.Point) (cells []cell) {
	for _, class := range classes {
		for _, reply := range replies {
			if c := (cell{class, point, reply}); c.vacuous() == "" {
				cells = append(cells, c)
			}
		}
	}
	return cells
}

// pointsAtOnce is how many points are run at the same time: most of their time is spent
// waiting for leases, and all their cells together would be more work than they have time for.
const pointsAtOnce = 4

// It runs beside no other test: its cells have to meet within the time of one attempt, and the
// calls of other tests would lose their heartbeats in its load.
func TestEveryClassEndsAsItPromisesWhereverItsWorkerIsKilledAndWhateverIsAnswered(t *testing.T) {
	slots := make(chan struct{}, pointsAtOnce)
	var all sync.WaitGroup
	for _, point := range matrixPoints {
		slots <- struct{}{}
		all.Go(func() {
			t.Run(string(point), func(t *testing.T) { meetAt(t, point) })
			<-slots
		})
	}
	all.Wait()
}

// leftOut is how many combinations each rule leaves out, and keptCells how many cells remain: who
// changes a rule or a list sees here what that leaves out.
const keptCells = 603

var leftOut = map[vacuity]int{
	noTransaction: 252, noCall: 28, noLookup: 312, noProvider: 200, nothingStored: 228, noAnswer: 75, hasHung: 152,
	nothingSent: 219, neverSent: 24, rolledBack: 3, allRecorded: 4,
}

// A rule that leaves out too much must not go unnoticed.
func TestTheMatrixKeepsEveryCombinationOrSaysWhyNot(t *testing.T) {
	t.Parallel()
	kept, left := 0, map[vacuity]int{}
	met := map[string]bool{} // class and answer
	for _, point := range matrixPoints {
		for _, class := range classes {
			here, passes := 0, false
			for _, reply := range replies {
				why := cell{class, point, reply}.vacuous()
				if why == "" {
					here, met[class.tool+reply.name] = here+1, true
					continue
				}
				left[why]++
				passes = passes || why != noTransaction && why != noCall && why != noLookup
			}
			if passes && here == 0 {
				t.Errorf("%s passes %s, and is not killed there", class.tool, point)
			}
			kept += here
		}
	}
	for _, class := range classes {
		for _, reply := range replies {
			if class.where == provided && (class.storesErrors || !reply.stored) && !met[class.tool+reply.name] {
				t.Errorf("%s is never answered with %s", class.tool, reply.name)
			}
		}
	}
	if kept != keptCells {
		t.Errorf("%d cells are kept, want %d", kept, keptCells)
	}
	if !maps.Equal(left, leftOut) {
		t.Errorf("left out are\n%v, want\n%v", left, leftOut)
	}
	all := kept
	for _, n := range left {
		all += n
	}
	if want := len(matrixPoints) * len(classes) * len(replies); all != want {
		t.Errorf("%d combinations are kept or left out, there are %d", all, want)
	}
}
