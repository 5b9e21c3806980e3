package recovery

import "time"

// Within makes Temporal's time for a batch shorter and returns the sweeper.
func (s *Sweeper) Within(patience time.Duration) *Sweeper {
	s.patience = patience
	return s
}

// Rest is rest.
var Rest = rest

// WakeGap is wakeGap.
const WakeGap = wakeGap
