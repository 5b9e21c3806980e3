package intent

import "time"

// decisionHolds is how long a decision that allows an attempt is acted on: enough for the steps
// between the two, and too short for a wait.
const decisionHolds = 5 * time.Second

// Fresh reports whether a decision that was made at one time, or zero for none, still lets an attempt
// begin at another, both by the database's clock. If not, policy is asked again.
func Fresh(decidedAt, now time.Time) bool {
	age := now.Sub(decidedAt)
	return !decidedAt.IsZero() && age >= 0 && age <= decisionHolds
}
