package sandbox

import (
	"encoding/json"
	"io"
	"net/http"
)

// addFault sets a rule.
func (s *Server) addFault(w http.ResponseWriter, r *http.Request) {
	var fault Fault
	if p := decodeStrictly(w, r, &fault, CodeInvalidFault); p != nil {
		s.refuse(w, p)
		return
	}
	added, p := s.faults.add(fault)
	if p != nil {
		s.refuse(w, p)
		return
	}
	s.sent(writeJSON(w, http.StatusCreated, added))
}

func (s *Server) listFaults(w http.ResponseWriter, _ *http.Request) {
	s.sent(writeJSON(w, http.StatusOK, s.faults.list()))
}

// removeFaults deletes the named rule, or all of them. Requests that hang because of a rule go on hanging.
func (s *Server) removeFaults(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("id")
	removed := s.faults.remove(id)
	if id != "" && removed == 0 {
		s.refuse(w, refuse(http.StatusNotFound, CodeFaultNotFound, "No fault %q is set.", id))
		return
	}
	s.sent(writeJSON(w, http.StatusOK, map[string]int{"removed": removed}))
}

// keyRequest chooses requests or keys: those with the key or reference, or all.
type keyRequest struct {
	Key string `json:"key"`
}

type releaseAnswer struct {
	Released int `json:"released"`
}

// releaseHeld lets hanging requests go on.
func (s *Server) releaseHeld(w http.ResponseWriter, r *http.Request) {
	var chosen keyRequest
	if p := decodeStrictly(w, r, &chosen, CodeInvalidFault); p != nil {
		s.refuse(w, p)
		return
	}
	s.sent(writeJSON(w, http.StatusOK, releaseAnswer{Released: s.holds.release(chosen.Key)}))
}

type forgetAnswer struct {
	Forgotten int `json:"forgotten"`
}

// forgetKeys ends the memory of keys. What was performed under them stays in the ledger and in lookups.
func (s *Server) forgetKeys(w http.ResponseWriter, r *http.Request) {
	var chosen keyRequest
	if p := decodeStrictly(w, r, &chosen, CodeInvalidSettings); p != nil {
		s.refuse(w, p)
		return
	}
	s.sent(writeJSON(w, http.StatusOK, forgetAnswer{Forgotten: s.desk.forget(chosen.Key)}))
}

// changeSettings sets what is given and answers all of them.
func (s *Server) changeSettings(w http.ResponseWriter, r *http.Request) {
	var given changed
	p := decodeStrictly(w, r, &given, CodeInvalidSettings)
	if p == nil {
		p = s.settings.change(given)
	}
	if p != nil {
		s.refuse(w, p)
		return
	}
	s.showSettings(w, r)
}

func (s *Server) showSettings(w http.ResponseWriter, _ *http.Request) {
	s.sent(writeJSON(w, http.StatusOK, s.settings.get()))
}

// decodeStrictly reads a JSON object into v; an empty body leaves v as it is. A member that v does not have is refused, since a
// misspelt one would silently make a fault match more than was meant; the refusal has the code.
func decodeStrictly(w http.ResponseWriter, r *http.Request, v any, code string) *problem {
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	in.DisallowUnknownFields()
	if err := in.Decode(v); err == io.EOF {
		return nil
	} else if err != nil {
		return refuse(http.StatusBadRequest, code, "The body cannot be used: %v.", err)
	}
	if _, err := in.Token(); err != io.EOF {
		return refuse(http.StatusBadRequest, code, "The body must be one JSON object.")
	}
	return nil
}
