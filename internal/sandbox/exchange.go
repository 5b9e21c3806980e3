package sandbox

import (
	"net/http"
)

// exchange is one request under /v1 and its answer, as the request log sees them.
type exchange struct {
	w  http.ResponseWriter
	r  *http.Request
	id string
	// update changes the request's record and wakes those who wait for the change.
	update func(func(*Request))
	server *Server
}

// begin records a request and gives it its name.
func (s *Server) begin(w http.ResponseWriter, r *http.Request, endpoint, key, reference string) exchange {
	id := newID("req_")
	w.Header().Set("Request-Id", id)
	update := s.requests.add(Request{
		ID:          id,
		Time:        now(),
		Method:      r.Method,
		Endpoint:    endpoint,
		Key:         key,
		Reference:   reference,
		Traceparent: r.Header.Get("Traceparent"),
		Remote:      r.RemoteAddr,
	})
	return exchange{w: w, r: r, id: id, update: update, server: s}
}

// reach records a state that the request has come to.
func (x *exchange) reach(state string) {
	x.update(func(r *Request) { r.reach(state) })
}

// refuse answers a problem.
func (x *exchange) refuse(p *problem) {
	x.answered(p.status, writeProblem(x.w, p))
}

// answered records how the attempt to answer went.
func (x *exchange) answered(status int, err error) {
	x.server.sent(err)
	x.update(func(r *Request) {
		if err != nil {
			r.reach(StateAbandoned)
			return
		}
		r.Status = status
		r.reach(StateAnswered)
	})
}
