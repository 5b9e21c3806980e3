package chaos

import (
	"context"
	"fmt"
	"net/http"
	"syscall"
	"time"

	"writ/internal/postgres"
	"writ/internal/sandbox"
)

// strikePatience bounds a fault, its own duration aside: what it waits for may be away
// because of another one.
const strikePatience = 90 * time.Second

// strike lets one fault happen and returns when it is over. Where it must wait before it can
// happen, for another fault of the same part or for a victim, begun is called after the wait.
func (w *world) strike(ctx context.Context, e Event, begun func()) error {
	ctx, cancel := context.WithTimeout(ctx, e.For+strikePatience)
	defer cancel()
	victim := w.workers[int(e.Draw)%len(w.workers)]
	switch e.Kind {
	case WorkerKill:
		return victim.replace(ctx, syscall.SIGKILL, nil, begun)
	case WorkerFreeze:
		return victim.freeze(ctx, e.For)
	case PostgresCut, TemporalCut, ProviderCut:
		return w.cut(ctx, e, begun)
	case PostgresSlow, TemporalSlow, ProviderSlow:
		return w.slow(ctx, e, begun)
	case PostgresRestart:
		return w.database.restart(ctx, (*postgres.Server).Stop, begun)
	case PostgresCrash:
		return w.database.restart(ctx, (*postgres.Server).StopAtOnce, begun)
	case TemporalRestart:
		return w.server.replace(ctx, syscall.SIGTERM, nil, begun)
	case TemporalKill:
		return w.server.replace(ctx, syscall.SIGKILL, nil, begun)
	case TemporalEmptied:
		return w.server.replace(ctx, syscall.SIGKILL, w.database.dropTemporal, begun)
	case WorkflowTerminate:
		return w.strikeWorkflow(ctx, e.Draw, w.terminate, begun)
	case WorkflowReset:
		return w.strikeWorkflow(ctx, e.Draw, w.reset, begun)
	case WorkflowDelete:
		return w.strikeWorkflow(ctx, e.Draw, w.deleteWorkflow, begun)
	case ProviderUnavailable, ProviderDropBefore, ProviderDropAfter, ProviderHangBefore, ProviderHangAfter, ProviderDelay,
		ProviderInProgress, ProviderLate, ProviderLateAbsent, ProviderLookupError:
		return w.provider.disturb(ctx, providerFault(e), e.For)
	}
	return fmt.Errorf("%s is no kind of fault", e.Kind)
}

// linkOf is the link that a fault of a link is about.
func (w *world) linkOf(kind Kind) *link {
	switch kind {
	case PostgresCut, PostgresSlow:
		return w.toPostgres
	case TemporalCut, TemporalSlow:
		return w.toTemporal
	default:
		return w.toProvider
	}
}

// cut ends the connections of a link: half of the times new ones are refused, and half of
// the times they are made and reset.
func (w *world) cut(ctx context.Context, e Event, begun func()) error {
	if e.Draw%2 == 0 {
		return w.linkOf(e.Kind).cut(ctx, e.For, begun)
	}
	return w.linkOf(e.Kind).reset(ctx, e.For, begun)
}

// mostLatency is kept well below the settle delay of the sample tools: a network that holds
// a request back for longer than that makes the residue that is the provider's own fault here.
const mostLatency = 800 * time.Millisecond

// slow delays what goes over a link, or makes it narrow.
func (w *world) slow(ctx context.Context, e Event, begun func()) error {
	if e.Draw%3 == 0 {
		return w.linkOf(e.Kind).throttle(ctx, e.For, 10+int(e.Draw/3%50), begun)
	}
	return w.linkOf(e.Kind).slow(ctx, e.For, 50*time.Millisecond+time.Duration(e.Draw)%(mostLatency-50*time.Millisecond), begun)
}

// Where the faults of the provider befall.
const (
	transfers = "/v1/transfers/create"
	captures  = "/v1/payments/capture"
)

// providerFault is the rule that makes the provider misbehave.
func providerFault(e Event) sandbox.Fault {
	times := 1 + int(e.Draw%4)
	fault := sandbox.Fault{Times: &times}
	switch e.Kind {
	case ProviderUnavailable:
		fault.Fault, fault.Status, fault.Code = sandbox.FaultRefuse, http.StatusServiceUnavailable, "unavailable"
	case ProviderDropBefore:
		fault.Fault = sandbox.FaultDropBeforeAct
	case ProviderDropAfter:
		fault.Fault = sandbox.FaultDropAfterAct
	case ProviderHangBefore:
		fault.Fault = sandbox.FaultHangBeforeAct
	case ProviderHangAfter:
		fault.Fault = sandbox.FaultHangAfterAct
	case ProviderDelay:
		fault.Fault, fault.DelayMS = sandbox.FaultSlow, 500+int(e.Draw%4000)
	case ProviderInProgress:
		fault.Fault, fault.Endpoint = sandbox.FaultRefuse, captures
		fault.Status, fault.Code, fault.RetryAfter = http.StatusConflict, sandbox.CodeKeyInUse, 1
	case ProviderLate:
		fault.Fault, fault.DelayMS = sandbox.FaultLandLate, 200+int(e.Draw%2000)
	case ProviderLateAbsent:
		// After the lease of the attempt and the settle delay: a lookup has been trusted by then.
		fault.Fault, fault.Endpoint, fault.DelayMS = sandbox.FaultLandLate, transfers, 25_000+int(e.Draw%15_000)
		fault.Times = new(1)
	case ProviderLookupError:
		fault.Fault = sandbox.FaultLookupError
	}
	return fault
}
