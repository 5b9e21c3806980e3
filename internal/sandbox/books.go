package sandbox

import (
	"bytes"
	"context"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// maxWait is the longest that GET /requests waits.
const maxWait = time.Minute

// serveLedger returns the books, byte for byte as on the disk.
func (s *Server) serveLedger(w http.ResponseWriter, r *http.Request) {
	lines := s.ledger.all()
	switch format := r.URL.Query().Get("format"); format {
	case "", "json":
		body := slices.Concat([]byte{'['}, bytes.Join(lines, []byte(",\n")), []byte{']'})
		s.sent(writeBody(w, http.StatusOK, body))
	case "jsonl":
		w.Header().Set("Content-Type", "application/jsonl")
		for _, line := range lines {
			if _, err := w.Write(append(slices.Clone(line), '\n')); err != nil {
				s.sent(err)
				return
			}
		}
	default:
		s.refuse(w, refuse(http.StatusBadRequest, CodeInvalidQuery, "format must be json or jsonl, not %q.", format))
	}
}

// serveRequests lists what the provider saw, at once or when there is enough to see.
func (s *Server) serveRequests(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	for name := range query {
		if !slices.Contains([]string{"key", "endpoint", "state", "count", "wait"}, name) {
			s.refuse(w, refuse(http.StatusBadRequest, CodeInvalidQuery, "%q is not a filter; use key, endpoint, state, count and wait.", name))
			return
		}
	}
	filter := RequestFilter{Key: query.Get("key"), Endpoint: query.Get("endpoint"), State: query.Get("state")}
	if filter.State != "" && !slices.Contains(states, filter.State) {
		s.refuse(w, refuse(http.StatusBadRequest, CodeInvalidQuery, "%q is not a state; use one of %s.", filter.State, strings.Join(states, ", ")))
		return
	}
	if !query.Has("wait") {
		s.sent(writeJSON(w, http.StatusOK, s.requests.find(filter)))
		return
	}
	wait, err := time.ParseDuration(query.Get("wait"))
	if err != nil || wait <= 0 || wait > maxWait {
		s.refuse(w, refuse(http.StatusBadRequest, CodeInvalidQuery, "wait must be a duration such as 10s, at most %s.", maxWait))
		return
	}
	count := 1
	if query.Has("count") {
		if count, err = strconv.Atoi(query.Get("count")); err != nil || count < 1 {
			s.refuse(w, refuse(http.StatusBadRequest, CodeInvalidQuery, "count must be a positive number of requests."))
			return
		}
	}
	s.awaitRequests(w, r, filter, count, wait)
}

func (s *Server) awaitRequests(w http.ResponseWriter, r *http.Request, filter RequestFilter, count int, wait time.Duration) {
	ctx, cancel := context.WithTimeout(r.Context(), wait)
	defer cancel()
	found, ok := s.requests.await(ctx, filter, count)
	switch {
	case ok:
		s.sent(writeJSON(w, http.StatusOK, found))
	case isClosed(s.stopping):
		s.refuse(w, stoppingProblem())
	default:
		s.refuse(w, refuse(http.StatusNotFound, CodeNotSeen, "Fewer than %d such requests were seen within %s.", count, wait))
	}
}

func (s *Server) serveHealth(w http.ResponseWriter, _ *http.Request) {
	if isClosed(s.stopping) {
		s.refuse(w, stoppingProblem())
		return
	}
	s.sent(writeJSON(w, http.StatusOK, map[string]string{"status": "ok"}))
}
