package sandbox

import (
	"net/http"
	"sync"
	"time"
)

// desk admits requests one after the other. What a key stands for comes from the ledger, as far as the provider remembers
// the key; besides that the desk knows which keys are held by requests that have not acted, and the errors that faults
// have stored.
type desk struct {
	ledger   *ledger
	faults   *faultRules
	settings *settings

	mu     sync.Mutex
	held   map[string]bool
	stored map[string]storedError
	// forgotten is the newest effect of each key that the provider was told to forget, by its seq.
	forgotten map[string]int64
}

// storedError is an error that is the answer to every request with a key.
type storedError struct {
	endpoint   string
	bodySHA256 string
	answer     Answer
	since      time.Time
}

// admit decides about a request and, if it is to act under a key, holds the key for it until release.
//
// A key in use answers "in use" to other bodies too: until the first request acts nothing is known under the key, and
// it may yet leave without acting.
func (d *desk) admit(rq *effectRequest) (admission, *problem) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.look(rq)
	fault, p := d.faults.strike(target{
		endpoint: rq.endpoint, key: rq.key, reference: rq.reference, body: rq.body, standing: a.standing,
	}, rq.r.Header)
	if p != nil {
		return admission{}, p
	}
	a.fault = fault
	if fault.Fault == FaultIgnoreKey {
		return admission{standing: keyFree, fault: fault}, nil
	}
	d.take(rq, a)
	if fault.Fault == FaultStoredError || fault.Fault == FaultErrorStoredAfterAct {
		a.answer, p = d.store(rq, fault)
	}
	return a, p
}

// readmit admits a request that nobody waits for, whatever the rules say; false means that it is not to act.
func (d *desk) readmit(rq *effectRequest) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.look(rq)
	d.take(rq, a)
	return a.standing == keyFree
}

// take holds the key for a request that is to act under it. The caller holds mu.
func (d *desk) take(rq *effectRequest, a admission) {
	if a.standing == keyFree && rq.op.keyed {
		d.held[rq.key] = true
		rq.holdsKey = true
	}
}

// store makes a fault's error the answer to the request's key, already before the act: no other request may see the key
// with the answer of a success. The caller holds mu.
func (d *desk) store(rq *effectRequest, f Fault) (*Answer, *problem) {
	body, err := marshal(problemBody{Error: problemDetail{Code: f.Code, Message: "The provider failed; it stored this answer for the Idempotency-Key."}})
	if err != nil {
		return nil, refuse(http.StatusInternalServerError, CodeInternal, "The provider failed before it acted; nothing was done.")
	}
	e := storedError{endpoint: rq.endpoint, bodySHA256: rq.bodySHA256, answer: Answer{Status: f.Status, Body: body}, since: now()}
	d.stored[rq.key] = e
	return &e.answer, nil
}

// unstore takes back what admit stored for a request that holds its key and did not act.
func (d *desk) unstore(rq *effectRequest) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if rq.holdsKey {
		delete(d.stored, rq.key)
	}
}

// look tells how the request's key stands. The caller holds mu. The ledger is asked before the held keys: a key is
// released only after its effect is in the ledger, so it cannot fall between the two.
func (d *desk) look(rq *effectRequest) admission {
	if !rq.op.keyed {
		return admission{standing: keyFree}
	}
	if e, stored := d.stored[rq.key]; stored && d.settings.remembers(e.since) {
		if e.endpoint != rq.endpoint || e.bodySHA256 != rq.bodySHA256 {
			return admission{standing: keyReused}
		}
		return admission{standing: keyAnswered, answer: &e.answer}
	}
	if first := d.remembered(rq.key); first != nil {
		if first.Endpoint != rq.endpoint || first.BodySHA256 != rq.bodySHA256 {
			return admission{standing: keyReused}
		}
		return admission{standing: keyAnswered, answer: &first.Answer}
	}
	if d.held[rq.key] {
		return admission{standing: keyInUse}
	}
	return admission{standing: keyFree}
}

// remembered returns the effect whose answer the provider remembers for a key, nil for none. A forgotten key that acts
// again is remembered anew from then on. The caller holds mu.
func (d *desk) remembered(key string) *Entry {
	var first *Entry
	for _, e := range d.ledger.under(key) {
		if e.Seq <= d.forgotten[key] {
			continue
		}
		if first == nil || d.settings.forgotBetween(first.Time, e.Time) {
			first = e
		}
	}
	if first == nil || !d.settings.remembers(first.Time) {
		return nil
	}
	return first
}

// forget makes the provider forget a key, or all of them if key is empty, and returns how many it had remembered.
func (d *desk) forget(key string) int {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := 0
	for _, k := range d.ledger.keys(key) {
		_, stored := d.stored[k]
		if performed := d.ledger.under(k); len(performed) > 0 {
			if d.remembered(k) != nil && !stored {
				n++
			}
			d.forgotten[k] = performed[len(performed)-1].Seq
		}
	}
	for k := range d.stored {
		if key == "" || k == key {
			delete(d.stored, k)
			n++
		}
	}
	return n
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
