package activities

import (
	"errors"
	"fmt"
	"time"

	"writ/intent"
	"writ/outbox"
)

// checkTimeout is how long an answer's evidence waits for the answer to be compared with
// its schema.
const checkTimeout = 2 * time.Second

// checked notes on the evidence of an applied effect if the answer is not what the spec
// promises. The effect happened, so nothing that is found here changes the outcome or the
// answer; and since evidence must be recorded within the lease, it waits for at most half
// of what is left of it; of an answer that came later, for checkTimeout.
func (r run) checked(ev outbox.Evidence) outbox.Evidence {
	if r.check == nil || ev.Outcome != intent.Applied || ev.Code == CodeResultCut || ev.Code == CodeResultBroken {
		return ev
	}
	wait := checkTimeout
	if left := time.Until(r.lease) / 2; left > 0 {
		wait = min(wait, left)
	}
	found := make(chan error, 1)
	go func() {
		defer func() {
			if recover() != nil {
				found <- errors.New("checking it panicked")
			}
		}()
		found <- r.check(ev.Result)
	}()
	giveUp := time.NewTimer(wait)
	defer giveUp.Stop()
	var problem error
	select {
	case problem = <-found:
	case <-giveUp.C:
		// The check has a budget of its own and ends soon.
		problem = errors.New("it could not be checked in time")
	}
	if problem != nil {
		ev.Code = CodeInvalidOutput
		ev.Message = storable("the answer is not what the tool's spec promises: "+problemText(ev.Result, problem), maxMessage)
	}
	return ev
}

// problemText names an answer that is no JSON by the code alone: the text quotes from it.
func problemText(body []byte, problem error) string {
	switch code := intent.CodeOf(problem); {
	case len(body) == 0:
		return "it is empty"
	case code != "":
		return fmt.Sprintf("it is no JSON that can be checked (%s)", code)
	}
	return problem.Error()
}
