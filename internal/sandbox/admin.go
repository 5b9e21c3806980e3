package sandbox

import (
	"encoding/json"
	"io"
	"net/http"
)

// addFault sets a rule.
func (s *Server) addFault(w http.ResponseWriter, r *http.Request) {
	var fault Fault
	if p := decodeStrictly(w, r, &fault); p != nil {
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

// releaseRequest chooses the hanging requests to release: those with the key, or all.
type releaseRequest struct {
	Key string `json:"key"`
}

type releaseAnswer struct {
	Released int `json:"released"`
}

// releaseHeld lets hanging requests go on.
func (s *Server) releaseHeld(w http.ResponseWriter, r *http.Request) {
	var chosen releaseRequest
	if p := decodeStrictly(w, r, &chosen); p != nil {
		s.refuse(w, p)
		return
	}
	s.sent(writeJSON(w, http.StatusOK, releaseAnswer{Released: s.holds.release(chosen.Key)}))
}

// decodeStrictly reads a JSON object into v; an empty body leaves v as it is. A member that v does not have is refused, since a
// misspelt one would silently make a fault match more than was meant.
func decodeStrictly(w http.ResponseWriter, r *http.Request, v any) *problem {
	in := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
	in.DisallowUnknownFields()
	if err := in.Decode(v); err == io.EOF {
		return nil
	} else if err != nil {
		return refuse(http.StatusBadRequest, CodeInvalidFault, "The body cannot be used: %v.", err)
	}
	if _, err := in.Token(); err != io.EOF {
		return refuse(http.StatusBadRequest, CodeInvalidFault, "The body must be one JSON object.")
	}
	return nil
}
