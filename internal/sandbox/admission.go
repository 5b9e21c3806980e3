package sandbox

import "net/http"

// standing is how an idempotency key stands towards a request.
type standing int

const (
	keyFree     standing = iota // nothing is known under the key, or the endpoint does not look at keys
	keyAnswered                 // the same request was answered before: its answer is stored
	keyInUse                    // another request holds the key and has not acted yet
	keyReused                   // another body or endpoint was answered under the key
)

// admission is what was decided about a request before anything happens.
type admission struct {
	standing standing
	// answer is what the key is answered with: the stored answer of keyAnswered, or the one that a fault has just stored.
	answer *Answer
	fault  Fault // zero if none befalls the request
}

// actsFirst tells whether the effect is performed before the answer.
func (a admission) actsFirst() bool {
	return a.standing == keyFree && a.fault.Fault != FaultStoredError
}

// refusal is why an admitted request ends without an effect and without a replay, nil if it goes on.
func (a admission) refusal() *problem {
	switch {
	case a.standing == keyInUse:
		p := refuse(http.StatusConflict, CodeKeyInUse,
			"A request with this Idempotency-Key is being processed; send the same request again later to learn its answer.")
		p.retryAfter = 1
		return p
	case a.standing == keyReused:
		return refuse(http.StatusUnprocessableEntity, CodeKeyReused,
			"This Idempotency-Key was used for another request; use a new key for a new action. This request did nothing.")
	case a.fault.Fault == FaultRateLimit:
		p := refuse(http.StatusTooManyRequests, CodeRateLimited, "Too many requests; this one did nothing. Send it again after Retry-After.")
		p.retryAfter = a.fault.RetryAfter
		return p
	case a.fault.Fault == FaultGatewayTimeout:
		return gatewayTimeout()
	case a.fault.Fault == FaultRefuse:
		return a.fault.problem("The provider was told to refuse this request; nothing was done.")
	default:
		return nil
	}
}

// problem is the error that a fault asks for.
func (f Fault) problem(message string) *problem {
	return &problem{status: f.Status, code: f.Code, message: message, retryAfter: f.RetryAfter}
}

// gatewayTimeout says as little as a gateway knows.
func gatewayTimeout() *problem {
	return refuse(http.StatusGatewayTimeout, CodeGatewayTimeout, "The gateway had no answer from the provider in time; whether anything was done is not known.")
}
