package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
)

// maxBody is the largest body that the provider reads, in bytes.
const maxBody = 1 << 20

// effectRequest is one request to an effect endpoint on its way through the provider.
type effectRequest struct {
	exchange
	endpoint   string
	op         operation
	key        string
	body       []byte
	bodySHA256 string
	holdsKey   bool // kept by the desk
}

// serveEffect takes a request through its life: received, admitted, perhaps held, performed or replayed, answered or not.
func (s *Server) serveEffect(w http.ResponseWriter, r *http.Request, endpoint string, op operation) {
	// net/http notices that a client is gone only once the body is read to its end, so this comes first.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	key := r.Header.Get("Idempotency-Key")
	rq := &effectRequest{exchange: s.begin(w, r, endpoint, key), endpoint: endpoint, op: op, key: key, body: body}
	if err != nil {
		rq.refuse(bodyProblem(err))
		return
	}
	if op.keyed {
		if p := checkKey(r.Header); p != nil {
			rq.refuse(p)
			return
		}
	}
	members, p := op.parse(body)
	if p != nil {
		rq.refuse(p)
		return
	}
	rq.bodySHA256 = digest(body)

	admitted, p := s.desk.admit(rq)
	if p != nil {
		rq.refuse(p)
		return
	}
	defer s.desk.release(rq) // also if something below panics
	if admitted.fault.Fault != "" {
		rq.update(func(r *Request) { r.Fault = admitted.fault.Fault })
	}
	if p := admitted.refusal(); p != nil {
		s.giveUp(rq, p)
		return
	}
	effect := admitted.stored
	if admitted.fault.Fault == FaultHangBeforeAct && !s.hold(rq, effect != nil) {
		return
	}
	if effect == nil {
		if effect, p = s.perform(rq, members); p != nil {
			s.giveUp(rq, p)
			return
		}
		s.desk.release(rq) // before any hang: from here on the key has a stored answer
		rq.reach(StateActed)
	}
	s.settle(rq, effect.Answer, admitted)
}

// digest is how the ledger names the bytes of a body.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// refusal is why an admitted request ends without an effect and without a replay, nil if it goes on.
func (a admission) refusal() *problem {
	switch {
	case a.standing == keyInUse:
		p := refuse(http.StatusConflict, CodeKeyInUse,
			"A request with this Idempotency-Key is being processed; send the same request again later to learn its answer.")
		p.retryAfter = 1
		return p
	case a.standing == keyReused:
		return refuse(http.StatusUnprocessableEntity, CodeKeyReused,
			"This Idempotency-Key was used for another request; use a new key for a new action. This request did nothing.")
	case a.fault.Fault == FaultRateLimit:
		p := refuse(http.StatusTooManyRequests, CodeRateLimited, "Too many requests; this one did nothing. Send it again after Retry-After.")
		p.retryAfter = a.fault.RetryAfter
		return p
	default:
		return nil
	}
}

// giveUp ends a request that will not act. Its key is free before its client can know.
func (s *Server) giveUp(rq *effectRequest, p *problem) {
	s.desk.release(rq)
	rq.refuse(p)
}

// perform makes the effect happen: it is in the ledger, on the disk, when perform returns without a problem.
func (s *Server) perform(rq *effectRequest, members map[string]json.RawMessage) (*Entry, *problem) {
	effectID := newID("eff_")
	answer, err := rq.op.answer(effectID, members)
	if err != nil {
		return nil, s.internal(rq, fmt.Errorf("sandbox: make an answer: %w", err))
	}
	body, err := oneLine(rq.body)
	if err != nil {
		return nil, s.internal(rq, fmt.Errorf("sandbox: compact a body: %w", err))
	}
	entry := &Entry{
		Time:        now(),
		Endpoint:    rq.endpoint,
		Key:         rq.key,
		RequestID:   rq.id,
		Traceparent: rq.r.Header.Get("Traceparent"),
		EffectID:    effectID,
		BodySHA256:  rq.bodySHA256,
		Body:        body,
		Answer:      answer,
	}
	switch err := s.ledger.append(entry); {
	case errors.Is(err, errLedgerClosed):
		return nil, stoppingProblem()
	case err != nil:
		s.log.Error("the ledger failed; the provider refuses every effect until it is restarted", "error", err, "request", rq.id)
		return nil, refuse(http.StatusInternalServerError, CodeLedgerFailed,
			"The provider's disk failed; whether the effect happened shows after its restart. Look it up by its key then.")
	}
	return entry, nil
}

// settle ends a request whose effect is in the ledger, with the stored answer or with what a fault makes of it.
func (s *Server) settle(rq *effectRequest, answer Answer, admitted admission) {
	switch admitted.fault.Fault {
	case FaultDropAfterAct:
		s.drop(rq)
		return
	case FaultErrorAfterAct:
		rq.refuse(refuse(http.StatusInternalServerError, CodeInternal,
			"The provider failed; send the same request with the same Idempotency-Key again to learn what happened."))
		return
	case FaultHangAfterAct:
		if !s.hold(rq, true) {
			return
		}
	}
	if admitted.standing == keyAnswered {
		rq.w.Header().Set("Idempotent-Replayed", "true")
	}
	rq.answered(answer.Status, writeBody(rq.w, answer.Status, answer.Body))
}

// hold keeps the request hanging and tells whether it goes on. If not, the request is ended here. One that has not acted
// goes on only when it is released; one that has acted is answered also when the provider stops.
func (s *Server) hold(rq *effectRequest, acted bool) bool {
	h := s.holds.begin(rq.key)
	rq.reach(StateHanging)
	switch end := s.holds.wait(rq.r.Context(), h); {
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

// internal reports a defect of the provider itself. Nothing has been written to the ledger.
func (s *Server) internal(rq *effectRequest, err error) *problem {
	s.log.Error("a request failed inside the provider", "error", err, "request", rq.id)
	return refuse(http.StatusInternalServerError, CodeInternal, "The provider failed before it acted; nothing was done.")
}

func stoppingProblem() *problem {
	return refuse(http.StatusServiceUnavailable, CodeStopping, "The provider is stopping; this request did nothing. Send it again when the provider is back.")
}

func bodyProblem(err error) *problem {
	if tooLarge := new(http.MaxBytesError); errors.As(err, &tooLarge) {
		return refuse(http.StatusRequestEntityTooLarge, CodeBodyTooLarge, "The body is over %d bytes; nothing was done.", tooLarge.Limit)
	}
	return refuse(http.StatusBadRequest, CodeInvalidJSON, "The body ended early; nothing was done.")
}
