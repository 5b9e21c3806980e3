package sandbox

import (
	"net/http"
	"sync"
)

// standing is how an idempotency key stands towards a request.
type standing int

const (
	keyFree     standing = iota // nothing is known under the key, or the endpoint does not look at keys
	keyAnswered                 // the same request was performed before: its answer is stored
	keyInUse                    // another request holds the key and has not acted yet
	keyReused                   // another body or endpoint was performed under the key
)

// admission is what was decided about a request before anything happens.
type admission struct {
	standing standing
	stored   *Entry // the effect whose answer to replay; only with keyAnswered
	fault    Fault  // zero if none befalls the request
}

// desk admits requests one after the other. What a key stands for comes from the ledger; the desk itself knows only which
// keys are held by requests that have not acted.
type desk struct {
	ledger *ledger
	faults *faultRules

	mu   sync.Mutex
	held map[string]bool
}

// admit decides about a request and, if it is to act under a key, holds the key for it until release.
//
// A key in use answers "in use" to other bodies too: until the first request acts nothing is known under the key, and
// it may yet leave without acting.
func (d *desk) admit(rq *effectRequest) (admission, *problem) {
	asked, byHeader, p := headerFault(rq.r.Header)
	if p != nil {
		return admission{}, p
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.look(rq)
	if byHeader && befalls(asked.Fault, a.standing) {
		a.fault = asked
	} else if !byHeader {
		a.fault, _ = d.faults.strike(rq.endpoint, rq.key, rq.body, a.standing)
	}
	if a.fault.Fault == FaultIgnoreKey {
		return admission{standing: keyFree, fault: a.fault}, nil
	}
	if a.standing == keyFree && rq.op.keyed {
		d.held[rq.key] = true
		rq.holdsKey = true
	}
	return a, nil
}

// look tells how the request's key stands. The caller holds mu. The ledger is asked before the held keys: a key is
// released only after its effect is in the ledger, so it cannot fall between the two.
func (d *desk) look(rq *effectRequest) admission {
	if !rq.op.keyed {
		return admission{standing: keyFree}
	}
	if performed := d.ledger.under(rq.key); len(performed) > 0 {
		first := performed[0]
		if first.Endpoint != rq.endpoint || first.BodySHA256 != rq.bodySHA256 {
			return admission{standing: keyReused}
		}
		return admission{standing: keyAnswered, stored: first}
	}
	if d.held[rq.key] {
		return admission{standing: keyInUse}
	}
	return admission{standing: keyFree}
}

// release gives the key back: the effect is in the ledger, or will not happen.
func (d *desk) release(rq *effectRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rq.holdsKey {
		delete(d.held, rq.key)
		rq.holdsKey = false
	}
}

// checkKey refuses what a keyed endpoint cannot take for a key.
func checkKey(h http.Header) *problem {
	switch values := h.Values("Idempotency-Key"); {
	case len(values) == 0 || values[0] == "":
		return refuse(http.StatusBadRequest, CodeKeyMissing,
			"Send an Idempotency-Key header that names this one action; nothing was done.")
	case len(values) > 1 || !validKey(values[0]):
		return refuse(http.StatusBadRequest, CodeKeyInvalid,
			"Send one Idempotency-Key header of 1 to 255 printable ASCII characters; nothing was done.")
	default:
		return nil
	}
}

func validKey(key string) bool {
	for i := range len(key) {
		if key[i] < 0x20 || key[i] > 0x7e {
			return false
		}
	}
	return len(key) <= 255
}
