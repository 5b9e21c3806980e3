package chaos

import "time"

// Kind is a kind of fault.
type Kind string

// The kinds of faults.
const (
	WorkerKill   Kind = "worker_kill"   // SIGKILL; another one is started
	WorkerFreeze Kind = "worker_freeze" // SIGSTOP, and SIGCONT after a while

	PostgresCut  Kind = "postgres_link_cut"  // connections are reset and new ones refused
	TemporalCut  Kind = "temporal_link_cut"  //
	ProviderCut  Kind = "provider_link_cut"  //
	PostgresSlow Kind = "postgres_link_slow" // every packet takes longer
	TemporalSlow Kind = "temporal_link_slow" //
	ProviderSlow Kind = "provider_link_slow" //

	PostgresRestart Kind = "postgres_restart" // a fast shutdown
	PostgresCrash   Kind = "postgres_crash"   // an immediate shutdown, and recovery from the log
	TemporalRestart Kind = "temporal_restart" // SIGTERM
	TemporalKill    Kind = "temporal_kill"    // SIGKILL
	TemporalEmptied Kind = "temporal_emptied" // SIGKILL, and an empty store in the place of the old one

	WorkflowTerminate Kind = "workflow_terminate"
	WorkflowReset     Kind = "workflow_reset" // to its first workflow task
	WorkflowDelete    Kind = "workflow_delete"

	ProviderUnavailable Kind = "provider_unavailable"  // 503, and nothing is done
	ProviderDropBefore  Kind = "provider_drop_before"  // the connection is closed, and nothing is done
	ProviderDropAfter   Kind = "provider_drop_after"   // the effect is performed, and its answer dropped
	ProviderHangBefore  Kind = "provider_hang_before"  // no answer, and nothing is done
	ProviderHangAfter   Kind = "provider_hang_after"   // the effect is performed, and no answer comes
	ProviderDelay       Kind = "provider_delay"        // the effect is performed, and the answer takes a while
	ProviderInProgress  Kind = "provider_in_progress"  // 409: a request with this key is being processed
	ProviderLate        Kind = "provider_late"         // no answer, and the effect soon after
	ProviderLateAbsent  Kind = "provider_late_absent"  // no answer, and the effect after a lookup was trusted that did not show it
	ProviderLookupError Kind = "provider_lookup_error" // a lookup is answered with 500
)

// outages are those that take PostgreSQL or Temporal away from everybody.
var outages = map[Kind]bool{
	PostgresRestart: true, PostgresCrash: true, TemporalRestart: true, TemporalKill: true, TemporalEmptied: true,
}

// share says how often a kind is drawn, and how long its faults last.
type share struct {
	kind        Kind
	weight      int           // in each deck
	least, most time.Duration // 0 for what has no duration of its own
}

// shares is the deck. What takes the whole system down for seconds is drawn seldom, so that
// the rest meets a system that works.
var shares = []share{
	{WorkerKill, 6, 0, 0},
	{WorkerFreeze, 4, time.Second, 20 * time.Second},
	{PostgresCut, 2, 500 * time.Millisecond, 8 * time.Second},
	{TemporalCut, 2, 500 * time.Millisecond, 8 * time.Second},
	{ProviderCut, 2, 500 * time.Millisecond, 8 * time.Second},
	{PostgresSlow, 2, time.Second, 8 * time.Second},
	{TemporalSlow, 2, time.Second, 8 * time.Second},
	{ProviderSlow, 2, time.Second, 8 * time.Second},
	{PostgresRestart, 1, 0, 0},
	{PostgresCrash, 1, 0, 0},
	{TemporalRestart, 1, 0, 0},
	{TemporalKill, 1, 0, 0},
	{TemporalEmptied, 1, 0, 0},
	{WorkflowTerminate, 4, 0, 0},
	{WorkflowReset, 3, 0, 0},
	{WorkflowDelete, 3, 0, 0},
	{ProviderUnavailable, 2, time.Second, 5 * time.Second},
	{ProviderDropBefore, 2, time.Second, 5 * time.Second},
	{ProviderDropAfter, 4, time.Second, 5 * time.Second},
	{ProviderHangBefore, 1, time.Second, 5 * time.Second},
	{ProviderHangAfter, 1, time.Second, 5 * time.Second},
	{ProviderDelay, 2, time.Second, 5 * time.Second},
	{ProviderInProgress, 1, time.Second, 5 * time.Second},
	{ProviderLate, 2, time.Second, 5 * time.Second},
	{ProviderLateAbsent, 1, 5 * time.Second, 10 * time.Second},
	{ProviderLookupError, 2, 2 * time.Second, 5 * time.Second},
}
