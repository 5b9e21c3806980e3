package sandbox

import (
	"net/http"
	"slices"
)

// The lookups by their paths.
const (
	effectsLookup   = "/v1/effects"
	transfersLookup = "/v1/transfers"
)

var lookups = []string{effectsLookup, transfersLookup}

// serveEffects tells what was performed under a key. It speaks only of effects that are in the ledger: a request that
// hangs before it acts is "not found" and may still be performed later.
func (s *Server) serveEffects(w http.ResponseWriter, r *http.Request) {
	key := r.PathValue("key")
	if key == "" {
		key = r.URL.Query().Get("key")
	}
	x := s.begin(w, r, effectsLookup, key, "")
	if key == "" {
		x.refuse(refuse(http.StatusBadRequest, CodeKeyMissing, "Name the key: /v1/effects?key=KEY or /v1/effects/KEY."))
		return
	}
	performed, p := s.show(x, target{endpoint: effectsLookup, key: key, lookup: true, shows: s.ledger.under(key)})
	if p == nil && len(performed) == 0 {
		p = refuse(http.StatusNotFound, CodeEffectNotFound, "No effect was performed under this key so far.")
	}
	if p != nil {
		x.refuse(p)
		return
	}
	x.answered(http.StatusOK, writeJSON(w, http.StatusOK, performed))
}

// serveTransfers lists the transfers with a reference, none if there are none so far.
func (s *Server) serveTransfers(w http.ResponseWriter, r *http.Request) {
	reference := r.URL.Query().Get("reference")
	x := s.begin(w, r, transfersLookup, "", reference)
	if reference == "" {
		x.refuse(refuse(http.StatusBadRequest, CodeInvalidQuery, "Name the reference: /v1/transfers?reference=REFERENCE."))
		return
	}
	performed, p := s.show(x, target{endpoint: transfersLookup, reference: reference, lookup: true, shows: s.ledger.referring(reference)})
	if p != nil {
		x.refuse(p)
		return
	}
	x.answered(http.StatusOK, writeJSON(w, http.StatusOK, append([]*Entry{}, performed...)))
}

// show returns the effects that a lookup shows, which are all of them unless a fault befalls it.
func (s *Server) show(x exchange, t target) ([]*Entry, *problem) {
	fault, p := s.faults.strike(t, x.r.Header)
	if p != nil || fault.Fault == "" {
		return t.shows, p
	}
	x.update(func(r *Request) { r.Fault = fault.Fault })
	if fault.Fault == FaultLookupError {
		return nil, fault.problem("The provider was told not to answer this lookup; it says nothing of the effect.")
	}
	return slices.DeleteFunc(slices.Clone(t.shows), fault.hides), nil
}
