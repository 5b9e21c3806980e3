package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// maxBody is the largest body that the provider reads, in bytes.
const maxBody = 1 << 20

// effectRequest is one request to an effect endpoint on its way through the provider.
type effectRequest struct {
	exchange
	endpoint    string
	op          operation
	key         string // the idempotency key; empty where none was sent
	reference   string // the client's own name for the effect; empty where the endpoint keeps none
	traceparent string
	body        []byte
	members     map[string]json.RawMessage
	bodySHA256  string
	holdsKey    bool // kept by the desk
}

// serveEffect takes a request through its life: received, admitted, perhaps held, performed or replayed, answered or not.
func (s *Server) serveEffect(w http.ResponseWriter, r *http.Request, endpoint string, op operation) {
	// net/http notices that a client is gone only once the body is read to its end, so this comes first.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	rq := &effectRequest{
		endpoint: endpoint, op: op, key: r.Header.Get("Idempotency-Key"), traceparent: r.Header.Get("Traceparent"), body: body,
	}
	if op.referenced {
		rq.reference = r.Header.Get(ReferenceHeader)
	}
	rq.exchange = s.begin(w, r, endpoint, rq.key, rq.reference)
	if err != nil {
		rq.refuse(bodyProblem(err))
		return
	}
	if p := rq.check(); p != nil {
		rq.refuse(p)
		return
	}
	admitted, p := s.desk.admit(rq)
	if p != nil {
		rq.refuse(p)
		return
	}
	defer s.desk.release(rq) // also if something below panics
	if admitted.fault.Fault != "" {
		rq.update(func(r *Request) { r.Fault = admitted.fault.Fault })
	}
	s.carryOut(rq, admitted)
}

// check refuses what the endpoint cannot take, and reads the body's members.
func (rq *effectRequest) check() (p *problem) {
	if rq.op.keyed {
		if p := checkKey(rq.r.Header); p != nil {
			return p
		}
	}
	if p := checkReference(rq.reference); p != nil {
		return p
	}
	rq.bodySHA256 = digest(rq.body)
	rq.members, p = rq.op.parse(rq.body)
	return p
}

// digest is how the ledger names the bytes of a body.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// carryOut takes an admitted request to its end.
func (s *Server) carryOut(rq *effectRequest, admitted admission) {
	if p := admitted.refusal(); p != nil {
		s.giveUp(rq, p)
		return
	}
	switch admitted.fault.Fault {
	case FaultDropBeforeAct:
		s.desk.release(rq)
		s.drop(rq)
		return
	case FaultLandLate:
		s.landLate(rq, admitted.fault)
		return
	case FaultHangBeforeAct:
		if !s.hold(rq, admitted.answer != nil, 0) {
			return
		}
	}
	answer := admitted.answer
	if admitted.actsFirst() {
		performed, p := s.performFor(rq, admitted.fault)
		if p != nil {
			s.desk.unstore(rq)
			s.giveUp(rq, p)
			return
		}
		if answer == nil {
			answer = &performed.Answer
		}
	}
	s.desk.release(rq) // before any hang: from here on the key has a stored answer
	s.settle(rq, *answer, admitted)
}

// giveUp ends a request that will not act. Its key is free before its client can know.
func (s *Server) giveUp(rq *effectRequest, p *problem) {
	s.desk.release(rq)
	rq.refuse(p)
}

// performFor performs a request once, or as often as a fault makes of it, and returns the first effect.
func (s *Server) performFor(rq *effectRequest, f Fault) (*Entry, *problem) {
	first, p := s.perform(rq)
	if p == nil && f.Fault == FaultPerformTwice {
		_, p = s.append(rq)
	}
	if p != nil {
		return nil, p
	}
	rq.reach(StateActed)
	return first, nil
}

// perform makes the effect happen, unless the rules of business refuse it: it is in the ledger, on the disk, when perform
// returns without a problem.
func (s *Server) perform(rq *effectRequest) (*Entry, *problem) {
	if rq.op.once.member == "" || !s.settings.businessRules() {
		return s.append(rq)
	}
	s.once.Lock() // nothing else of this kind is performed between the question and the act
	defer s.once.Unlock()
	if s.ledger.performedOn(rq.endpoint, subjectOf(rq.members, rq.op.once.member)) {
		return nil, refuse(rq.op.once.status, rq.op.once.code, "%s Nothing was done.", rq.op.once.why)
	}
	return s.append(rq)
}

// append puts an effect of the request into the ledger.
func (s *Server) append(rq *effectRequest) (*Entry, *problem) {
	effectID := newID("eff_")
	answer, err := rq.op.answer(effectID, rq.members)
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
		Reference:   rq.reference,
		RequestID:   rq.id,
		Traceparent: rq.traceparent,
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
