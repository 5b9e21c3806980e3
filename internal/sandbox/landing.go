package sandbox

import "context"

// landLate answers a request before it was looked at and lets it land later, as a gateway does that gives up on a request
// which is still under way. Until it lands the provider knows nothing of it: its key is free, and a second
// request with the key is performed.
func (s *Server) landLate(rq *effectRequest, f Fault) {
	s.desk.release(rq)
	late := *rq
	h := s.holds.begin(rq.key, rq.reference) // before the client can know, so that it can release it at once
	rq.reach(StateHanging)
	go s.land(&late, h, f)
	if f.Status == 0 {
		s.drop(rq)
		return
	}
	p := f.problem("The gateway gave up; whether anything was done is not known.")
	rq.refuse(p)
}

// land waits and then lets the request be performed, unless its key has an answer or the provider stops. Nobody is told.
func (s *Server) land(late *effectRequest, h *hold, f Fault) {
	if s.holds.wait(context.Background(), h, f.delay()) == holdStopping {
		late.reach(StateAbandoned)
		return
	}
	if s.desk.readmit(late) {
		defer s.desk.release(late)
		if _, p := s.perform(late); p == nil {
			late.reach(StateActed)
		}
	}
	late.reach(StateLanded)
}
