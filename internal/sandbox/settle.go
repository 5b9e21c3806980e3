package sandbox

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// settle ends a request whose key has its answer, with that answer or with what a fault makes of it.
func (s *Server) settle(rq *effectRequest, answer Answer, admitted admission) {
	switch f := admitted.fault; f.Fault {
	case FaultDropAfterAct:
		s.drop(rq)
		return
	case FaultErrorAfterAct:
		rq.refuse(refuse(http.StatusInternalServerError, CodeInternal,
			"The provider failed; send the same request with the same Idempotency-Key again to learn what happened."))
		return
	case FaultGatewayTimeoutAfterAct:
		rq.refuse(gatewayTimeout())
		return
	case FaultHangAfterAct, FaultSlow:
		if !s.hold(rq, true, f.delay()) {
			return
		}
	}
	if admitted.standing == keyAnswered {
		rq.w.Header().Set("Idempotent-Replayed", "true")
	}
	switch admitted.fault.Fault {
	case FaultMalformedBody:
		rq.answered(answer.Status, writeBody(rq.w, answer.Status, answer.Body[:len(answer.Body)-1]))
	case FaultBrokenBody:
		s.breakOff(rq, answer)
	case FaultHugeBody:
		rq.answered(answer.Status, writeHuge(rq.w, answer.Status, admitted.fault.Size))
	default:
		rq.answered(answer.Status, writeBody(rq.w, answer.Status, answer.Body))
	}
}

// hold keeps the request hanging, for that long or, if delay is 0, until somebody ends it, and tells whether it goes on.
// If not, the request is ended here. One that has not acted goes on only when it is released; one that has acted is
// answered also when the provider stops.
func (s *Server) hold(rq *effectRequest, acted bool, delay time.Duration) bool {
	h := s.holds.begin(rq.key, rq.reference)
	rq.reach(StateHanging)
	switch end := s.holds.wait(rq.r.Context(), h, delay); {
	case end == holdClientGone:
		s.desk.release(rq)
		rq.reach(StateAbandoned)
		return false
	case end == holdStopping && !acted:
		s.giveUp(rq, stoppingProblem())
		return false
	default:
		return true
	}
}

// drop closes the connection under the client's feet, with a reset where TCP allows it.
func (s *Server) drop(rq *effectRequest) {
	rq.reach(StateDropped)
	conn, _, err := http.NewResponseController(rq.w).Hijack()
	if err != nil {
		// HTTP/2 cannot be hijacked; net/http resets the stream instead.
		panic(http.ErrAbortHandler)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		// Best effort: without it the close is an ordinary one, which drops the answer just as well.
		_ = tcp.SetLinger(0)
	}
	conn.Close()
}

// breakOff sends half of the answer and ends the connection. The client gets the half: a reset could take it back.
func (s *Server) breakOff(rq *effectRequest, answer Answer) {
	rq.w.Header().Set("Content-Type", "application/json")
	rq.w.Header().Set("Content-Length", strconv.Itoa(len(answer.Body)))
	rq.w.WriteHeader(answer.Status)
	_, err := rq.w.Write(answer.Body[:len(answer.Body)/2])
	if err == nil {
		err = http.NewResponseController(rq.w).Flush()
	}
	s.sent(err)
	rq.reach(StateDropped)
	panic(http.ErrAbortHandler) // net/http closes the connection and says nothing
}

// writeHuge sends a JSON object of that many bytes.
func writeHuge(w http.ResponseWriter, status, size int) error {
	const head, tail = `{"padding":"`, `"}`
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	padding := io.LimitReader(endless{}, int64(max(size-len(head)-len(tail), 0)))
	if _, err := io.Copy(w, io.MultiReader(strings.NewReader(head), padding, strings.NewReader(tail))); err != nil {
		return fmt.Errorf("sandbox: send an answer: %w", err)
	}
	return nil
}

// endless is a text without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = 'x'
	}
	return len(p), nil
}
