package killpoint

import (
	"fmt"
	"os"
	"syscall"
)

// Point is a place in the life of an attempt.
type Point string

// The points, in the order in which an intent passes them.
const (
	BeforePersist  Point = "before_persist"
	AfterPersist   Point = "after_persist"
	BeforeClaim    Point = "before_claim"
	BeforeSend     Point = "before_send" // after the claim
	DuringCall     Point = "during_call" // the request was written, the answer not read
	BeforeEvidence Point = "before_evidence"
	AfterEvidence  Point = "after_evidence"
	BeforeJournal  Point = "before_journal"
	AfterJournal   Point = "after_journal"
)

// Points lists all points in order.
var Points = []Point{
	BeforePersist, AfterPersist, BeforeClaim, BeforeSend, DuringCall,
	BeforeEvidence, AfterEvidence, BeforeJournal, AfterJournal,
}

// The environment variables that arm a point.
const (
	EnvPoint = "WRIT_KILL_POINT"
	EnvFile  = "WRIT_KILL_FILE"
)

var armed, file = Point(os.Getenv(EnvPoint)), os.Getenv(EnvFile)

// Reach marks that the process got to p. It returns at once unless p is armed; armed, it
// creates the file and never returns.
func Reach(p Point) {
	if armed == "" || p != armed {
		return
	}
	if err := os.WriteFile(file, []byte(p), 0o600); err != nil {
		panic(fmt.Sprintf("killpoint: %s is armed but %s cannot be written: %v", p, EnvFile, err))
	}
	if err := syscall.Kill(os.Getpid(), syscall.SIGSTOP); err != nil {
		panic(fmt.Sprintf("killpoint: %s cannot stop the process: %v", p, err))
	}
	select {} // also if somebody continues the process
}
