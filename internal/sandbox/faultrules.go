package sandbox

import (
	"bytes"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"
)

// target is a request, as far as rules look at it.
type target struct {
	endpoint string
	// key and reference are the names that a rule may ask for.
	key, reference string
	body           []byte
	standing       standing // of the key; only of effects
	lookup         bool
	shows          []*Entry // what a lookup would show
}

// befalls tells whether a fault can take effect on a request. A rule does not count a request that it could not have
// changed, so that "times": 1 is never used up unseen.
func (f *Fault) befalls(t target) bool {
	kind := faultKinds[f.Fault]
	if t.lookup || kind.scope == scopeLookup {
		return t.lookup && kind.scope == scopeLookup &&
			(f.Fault != FaultLookupLag || slices.ContainsFunc(t.shows, f.hides))
	}
	if kind.keyed && !operations[t.endpoint].keyed {
		return false
	}
	switch kind.scope {
	case scopeAny:
		return t.standing == keyFree || t.standing == keyAnswered
	case scopeNew:
		return t.standing == keyFree
	case scopeKnown:
		return t.standing != keyFree
	case scopeLookup:
	}
	return false
}

// hides tells whether a lookup that lags does not show an effect yet.
func (f *Fault) hides(e *Entry) bool {
	return f.DelayMS == 0 || time.Since(e.Time) < f.delay()
}

func (f *Fault) delay() time.Duration { return time.Duration(f.DelayMS) * time.Millisecond }

// matches tells whether a rule asks for this request.
func (f *Fault) matches(t target) bool {
	return (f.Endpoint == "" || f.Endpoint == t.endpoint) &&
		(f.Key == "" || f.Key == t.key || f.Key == t.reference) &&
		bytes.Contains(t.body, []byte(f.MatchBody))
}

// faultRules holds the rules in the order in which they were set.
type faultRules struct {
	mu    sync.Mutex
	rules []*Fault
	named int // rules that the provider named itself
}

func (fr *faultRules) add(f Fault) (Fault, *problem) {
	if p := f.check(); p != nil {
		return Fault{}, p
	}
	fr.mu.Lock()
	defer fr.mu.Unlock()
	if f.ID == "" {
		f.ID = fr.freeID()
	} else if fr.find(f.ID) >= 0 {
		return Fault{}, refuse(http.StatusConflict, CodeFaultExists, "A fault %q is set already; delete it first or choose another id.", f.ID)
	}
	fr.rules = append(fr.rules, &f)
	return f, nil
}

// freeID makes up a name for a rule. The caller holds mu.
func (fr *faultRules) freeID() string {
	for {
		fr.named++
		if id := "fault-" + strconv.Itoa(fr.named); fr.find(id) < 0 {
			return id
		}
	}
}

// find returns the index of a rule, or -1. The caller holds mu.
func (fr *faultRules) find(id string) int {
	return slices.IndexFunc(fr.rules, func(f *Fault) bool { return f.ID == id })
}

func (fr *faultRules) list() []Fault {
	fr.mu.Lock()
	defer fr.mu.Unlock()
	listed := make([]Fault, 0, len(fr.rules))
	for _, f := range fr.rules {
		listed = append(listed, *f)
	}
	return listed
}

// remove deletes one rule, or all of them if id is empty, and returns how many there were.
func (fr *faultRules) remove(id string) int {
	fr.mu.Lock()
	defer fr.mu.Unlock()
	before := len(fr.rules)
	fr.rules = slices.DeleteFunc(fr.rules, func(f *Fault) bool { return id == "" || f.ID == id })
	return before - len(fr.rules)
}

// strike counts a request against the rules in their order and returns the first that fires; the rules after it don't
// see the request. A fault that the request's own header asks for hides it from all of them.
func (fr *faultRules) strike(t target, h http.Header) (Fault, *problem) {
	asked, byHeader, p := headerFault(h)
	switch {
	case p != nil:
		return Fault{}, p
	case byHeader && asked.befalls(t):
		return asked, nil
	case byHeader:
		return Fault{}, nil
	}
	fr.mu.Lock()
	defer fr.mu.Unlock()
	for _, f := range fr.rules {
		if !f.befalls(t) || !f.matches(t) {
			continue
		}
		f.Matched++
		if f.Matched%f.Every == 0 && (*f.Times == 0 || f.Fired < *f.Times) {
			f.Fired++
			return *f, nil
		}
	}
	return Fault{}, nil
}
