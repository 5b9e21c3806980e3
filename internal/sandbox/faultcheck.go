package sandbox

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// maxSize is the largest answer that huge_body makes, in bytes.
const maxSize = 256 << 20

var codeForm = regexp.MustCompile(`^[a-z0-9_]{1,64}$`)

// faultNames lists the faults in a fixed order.
func faultNames() []string { return slices.Sorted(maps.Keys(faultKinds)) }

func checkFaultName(name string) *problem {
	if _, known := faultKinds[name]; known {
		return nil
	}
	return refuse(http.StatusBadRequest, CodeUnknownFault, "%q is not a fault; use one of %s.", name, strings.Join(faultNames(), ", "))
}

// check refuses what cannot be meant and fills in the defaults.
func (f *Fault) check() *problem {
	if p := checkFaultName(f.Fault); p != nil {
		return p
	}
	if why := cmp.Or(f.badMatch(), f.badMember()); why != "" {
		return refuse(http.StatusBadRequest, CodeInvalidFault, "%s", why)
	}
	f.fillIn(faultKinds[f.Fault].takes)
	f.Matched, f.Fired = 0, 0
	return nil
}

// badMatch says what is wrong with what the rule matches, and how often it fires.
func (f *Fault) badMatch() string {
	kind := faultKinds[f.Fault]
	op, effects := operations[f.Endpoint]
	lookup := kind.scope == scopeLookup
	switch {
	case f.Times != nil && *f.Times < 0:
		return "times must be 0 (always) or a positive number of firings."
	case f.Every < 0:
		return "every must be a positive number of requests."
	case lookup && f.Endpoint != "" && !slices.Contains(lookups, f.Endpoint):
		return fmt.Sprintf("endpoint must be one of %s.", strings.Join(lookups, ", "))
	case lookup && f.MatchBody != "":
		return "match_body has nothing to match: lookups have no body."
	case !lookup && f.Endpoint != "" && !effects:
		return fmt.Sprintf("endpoint must be one of %s.", strings.Join(endpoints(), ", "))
	case kind.keyed && effects && !op.keyed:
		return f.Endpoint + " ignores every key already."
	}
	return ""
}

// badMember says which member has no use or no sense.
func (f *Fault) badMember() string {
	takes := faultKinds[f.Fault].takes
	for name, m := range map[string]struct{ given, belongs bool }{
		"retry_after": {f.RetryAfter != 0, takes.retryAfter != nil},
		"delay_ms":    {f.DelayMS != 0, takes.delayMS != nil},
		"size":        {f.Size != 0, takes.size != nil},
		"status":      {f.Status != 0, takes.error != nil},
		"code":        {f.Code != "", takes.error != nil},
	} {
		if m.given && !m.belongs {
			return fmt.Sprintf("%s does not belong to %s.", name, f.Fault)
		}
	}
	switch {
	case f.RetryAfter < 0:
		return "retry_after must be a positive number of seconds."
	case f.DelayMS < 0:
		return "delay_ms must be a positive number of milliseconds."
	case f.Size < 0 || f.Size > maxSize:
		return fmt.Sprintf("size must be a number of bytes up to %d.", maxSize)
	case f.Status != 0 && (f.Status < 400 || f.Status > 599):
		return "status must be that of an error, from 400 to 599."
	case f.Code != "" && !codeForm.MatchString(f.Code):
		return "code must be 1 to 64 of a-z, 0-9 and _."
	case f.Code != "" && f.Fault == FaultLandLate && f.Status == 0:
		return "code needs a status: without one the connection is closed."
	}
	return ""
}

// fillIn sets what was not given. A status that was given does not get another one's code.
func (f *Fault) fillIn(d defaults) {
	if f.Times == nil {
		f.Times = new(1)
	}
	f.Every = cmp.Or(f.Every, 1)
	for _, m := range []struct{ field, value *int }{{&f.RetryAfter, d.retryAfter}, {&f.DelayMS, d.delayMS}, {&f.Size, d.size}} {
		if m.value != nil {
			*m.field = cmp.Or(*m.field, *m.value)
		}
	}
	switch {
	case d.error == nil:
	case f.Status == 0:
		f.Status, f.Code = d.error.status, cmp.Or(f.Code, d.error.code)
	default:
		f.Code = cmp.Or(f.Code, codeOf(f.Status))
	}
}

// codeOf names an error whose rule gives only its status.
func codeOf(status int) string {
	switch status {
	case http.StatusPaymentRequired:
		return CodeCardDeclined
	case http.StatusTooManyRequests:
		return CodeRateLimited
	case http.StatusInternalServerError:
		return CodeInternal
	case http.StatusGatewayTimeout:
		return CodeGatewayTimeout
	default:
		return CodeRefused
	}
}

// headerFault is the fault that a request's own header asks for.
func headerFault(h http.Header) (Fault, bool, *problem) {
	name := h.Get(FaultHeader)
	if name == "" {
		return Fault{}, false, nil
	}
	f := Fault{ID: FaultHeader, Fault: name}
	if p := f.check(); p != nil {
		p.message = fmt.Sprintf("%s: %s", FaultHeader, p.message)
		return Fault{}, false, p
	}
	return f, true, nil
}
