package killpoint

import (
	"fmt"
	"os"
)

// Point is a place in the life of an attempt.
type Point string

// The points, in the order in which an intent passes them.
const (
	BeforePersist    Point = "before_persist"
	AfterPersist     Point = "after_persist"
	BeforeClaim      Point = "before_claim"
	BeforeSend       Point = "before_send"       // after the claim
	DuringCall       Point = "during_call"       // the request was written, the answer not read
	InTransaction    Point = "in_transaction"    // the effect was made with the engine's transaction, which is not committed
	AfterTransaction Point = "after_transaction" // committed, with the receipt
	BeforeEvidence   Point = "before_evidence"
	AfterEvidence    Point = "after_evidence"
	BeforeLookup     Point = "before_lookup"
	DuringLookup     Point = "during_lookup" // it stands on the row and is not answered
	AfterLookup      Point = "after_lookup"  // answered, not recorded
	BeforeJournal    Point = "before_journal"
	AfterJournal     Point = "after_journal"
)

// The points at which a wait for people ends. The first three are in the process of whoever
// confirms, the last in the worker that goes on.
const (
	BeforeDecision Point = "before_decision" // nothing is recorded
	AfterDecision  Point = "after_decision"  // committed, and Temporal is not told
	AfterWake      Point = "after_wake"      // Temporal is told
	Reauthorized   Point = "reauthorized"    // policy was asked again, and nothing is claimed
)

// Points lists in order those that every attempt may pass.
var Points = []Point{
	BeforePersist, AfterPersist, BeforeClaim, BeforeSend, DuringCall, InTransaction, AfterTransaction,
	BeforeEvidence, AfterEvidence, BeforeLookup, DuringLookup, AfterLookup, BeforeJournal, AfterJournal,
}

// The environment variables that arm a point.
const (
	EnvPoint = "WRIT_KILL_POINT"
	EnvFile  = "WRIT_KILL_FILE"
)

// armed is where this process blocks. It is read once, so that a process that is not armed
// pays one comparison for each point that it passes.
var armed = os.Getenv(EnvPoint)

// Reach says that the work for an intent, whose id or idempotency key is the label, got to p. It returns at
// once unless p is armed; armed, it appends the label as a line to the file and never
// returns. Only the caller is blocked: heartbeats and other intents go on, and when all that
// are awaited have arrived one SIGKILL ends them together. Whoever is called again because
// it did not return arrives again, so the reader counts different labels.
func Reach(p Point, label string) {
	if armed == "" || armed != string(p) {
		return
	}
	if err := arrive(os.Getenv(EnvFile), label); err != nil {
		panic(fmt.Sprintf("killpoint: %s is armed and %s says where to report: %v", p, EnvFile, err))
	}
	select {}
}

// arrive appends one line. A line is one write, and those of a file that is open for
// appending do not mix.
func arrive(path, label string) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(label + "\n")
	if closed := file.Close(); err == nil {
		err = closed
	}
	return err
}
