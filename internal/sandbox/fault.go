package sandbox

import (
	"bytes"
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// The faults that the provider can be asked for.
const (
	// FaultDropAfterAct performs the effect, then closes the connection without an answer.
	FaultDropAfterAct = "drop_after_act"
	// FaultErrorAfterAct performs the effect and stores its answer, then answers 500.
	FaultErrorAfterAct = "error_after_act"
	// FaultRateLimit answers 429 with Retry-After and does nothing.
	FaultRateLimit = "rate_limit"
	// FaultHangBeforeAct holds the request before its effect. A client that leaves meanwhile prevents the effect.
	FaultHangBeforeAct = "hang_before_act"
	// FaultHangAfterAct performs the effect, then holds the answer.
	FaultHangAfterAct = "hang_after_act"
	// FaultIgnoreKey performs the effect although the key is known.
	FaultIgnoreKey = "ignore_key"
)

var faultNames = []string{
	FaultDropAfterAct, FaultErrorAfterAct, FaultRateLimit, FaultHangBeforeAct, FaultHangAfterAct, FaultIgnoreKey,
}

// FaultHeader asks for a fault for the one request that carries it.
const FaultHeader = "Sandbox-Fault"

// Fault is a rule that makes matching requests fail. Key, Endpoint and MatchBody narrow what it matches; without them it
// matches every request that the fault can befall.
type Fault struct {
	// ID names the rule; the provider makes one up if it is empty.
	ID string `json:"id"`
	// Fault is one of the Fault… constants.
	Fault string `json:"fault"`
	// Key is the Idempotency-Key to match.
	Key string `json:"key,omitempty"`
	// Endpoint is the path to match, such as "/v1/payments/capture".
	Endpoint string `json:"endpoint,omitempty"`
	// MatchBody is a substring of the body as received.
	MatchBody string `json:"match_body,omitempty"`
	// Times is how often the rule fires at most: 1 by default, 0 for always.
	Times *int `json:"times,omitempty"`
	// Every makes the rule fire at each n-th matching request only, counted from 1. The default is 1.
	Every int `json:"every,omitempty"`
	// RetryAfter is the Retry-After of rate_limit in seconds. The default is 1.
	RetryAfter int `json:"retry_after,omitempty"`

	// Matched and Fired are counted by the provider and ignored when a rule is set.
	Matched int `json:"matched"`
	Fired   int `json:"fired"`
}

// check fills in the defaults.
func (f *Fault) check() *problem {
	bad := func(format string, args ...any) *problem {
		return refuse(http.StatusBadRequest, CodeInvalidFault, format, args...)
	}
	if p := checkFaultName(f.Fault); p != nil {
		return p
	}
	if f.Times == nil {
		f.Times = new(1)
	}
	f.Every = cmp.Or(f.Every, 1)
	op, known := operations[f.Endpoint]
	switch {
	case *f.Times < 0:
		return bad("times must be 0 (always) or a positive number of firings.")
	case f.Every < 0:
		return bad("every must be a positive number of requests.")
	case f.RetryAfter < 0:
		return bad("retry_after must be a positive number of seconds.")
	case f.RetryAfter > 0 && f.Fault != FaultRateLimit:
		return bad("retry_after belongs to %s only.", FaultRateLimit)
	case f.Endpoint != "" && !known:
		return bad("endpoint must be one of %s.", strings.Join(endpoints(), ", "))
	case f.Fault == FaultIgnoreKey && known && !op.keyed:
		return bad("%s ignores every key already.", f.Endpoint)
	}
	if f.Fault == FaultRateLimit {
		f.RetryAfter = cmp.Or(f.RetryAfter, 1)
	}
	f.Matched, f.Fired = 0, 0
	return nil
}

func checkFaultName(name string) *problem {
	if slices.Contains(faultNames, name) {
		return nil
	}
	return refuse(http.StatusBadRequest, CodeUnknownFault, "%q is not a fault; use one of %s.", name, strings.Join(faultNames, ", "))
}

// befalls tells whether a fault can take effect on a request whose key stands like this. A rule does not count a
// request that it could not have changed, so that "times": 1 is never used up unseen.
func befalls(fault string, s standing) bool {
	if fault == FaultIgnoreKey {
		return s != keyFree
	}
	return s == keyFree || s == keyAnswered
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
// see the request.
func (fr *faultRules) strike(endpoint, key string, body []byte, s standing) (Fault, bool) {
	fr.mu.Lock()
	defer fr.mu.Unlock()
	for _, f := range fr.rules {
		if !befalls(f.Fault, s) ||
			f.Endpoint != "" && f.Endpoint != endpoint ||
			f.Key != "" && f.Key != key ||
			!bytes.Contains(body, []byte(f.MatchBody)) {
			continue
		}
		f.Matched++
		if f.Matched%f.Every == 0 && (*f.Times == 0 || f.Fired < *f.Times) {
			f.Fired++
			return *f, true
		}
	}
	return Fault{}, false
}

// headerFault is the fault that a request's own header asks for.
func headerFault(h http.Header) (Fault, bool, *problem) {
	name := h.Get(FaultHeader)
	if name == "" {
		return Fault{}, false, nil
	}
	if p := checkFaultName(name); p != nil {
		p.message = fmt.Sprintf("%s: %s", FaultHeader, p.message)
		return Fault{}, false, p
	}
	return Fault{ID: FaultHeader, Fault: name, RetryAfter: 1}, true, nil
}
