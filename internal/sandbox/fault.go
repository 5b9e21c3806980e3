package sandbox

// The faults that the provider can be asked for.
const (
	// FaultDropBeforeAct closes the connection without an answer and does nothing.
	FaultDropBeforeAct = "drop_before_act"
	// FaultDropAfterAct performs the effect, then closes the connection without an answer.
	FaultDropAfterAct = "drop_after_act"
	// FaultErrorAfterAct performs the effect and stores its answer, then answers 500.
	FaultErrorAfterAct = "error_after_act"
	// FaultGatewayTimeout answers 504 and does nothing.
	FaultGatewayTimeout = "gateway_timeout"
	// FaultGatewayTimeoutAfterAct performs the effect and stores its answer, then answers 504.
	FaultGatewayTimeoutAfterAct = "gateway_timeout_after_act"
	// FaultRateLimit answers 429 with Retry-After and does nothing.
	FaultRateLimit = "rate_limit"
	// FaultRefuse answers a status and a code and does nothing; the key stays free.
	FaultRefuse = "refuse"
	// FaultHangBeforeAct holds the request before its effect. A client that leaves meanwhile prevents the effect.
	FaultHangBeforeAct = "hang_before_act"
	// FaultHangAfterAct performs the effect, then holds the answer.
	FaultHangAfterAct = "hang_after_act"
	// FaultSlow performs the effect, then takes its time to answer.
	FaultSlow = "slow"
	// FaultLandLate gives no answer, or an error, and performs the effect only later.
	FaultLandLate = "land_late"
	// FaultIgnoreKey performs the effect although the key is known.
	FaultIgnoreKey = "ignore_key"
	// FaultPerformTwice performs the effect of one request twice.
	FaultPerformTwice = "perform_twice"
	// FaultStoredError does nothing and answers the key with one error for ever.
	FaultStoredError = "stored_error"
	// FaultErrorStoredAfterAct performs the effect and answers the key with one error for ever.
	FaultErrorStoredAfterAct = "error_stored_after_act"
	// FaultMalformedBody performs the effect, then answers with a body that is no JSON.
	FaultMalformedBody = "malformed_body"
	// FaultBrokenBody performs the effect, then breaks off in the middle of the answer.
	FaultBrokenBody = "broken_body"
	// FaultHugeBody performs the effect, then answers with a very large body.
	FaultHugeBody = "huge_body"
	// FaultLookupLag hides effects from a lookup.
	FaultLookupLag = "lookup_lag"
	// FaultLookupError answers a lookup with an error.
	FaultLookupError = "lookup_error"
)

// FaultHeader asks for a fault for the one request that carries it.
const FaultHeader = "Sandbox-Fault"

// Fault is a rule that makes matching requests fail. Key, Endpoint and MatchBody narrow what it matches; without them it
// matches every request that the fault can befall.
type Fault struct {
	// ID names the rule; the provider makes one up if it is empty.
	ID string `json:"id"`
	// Fault is one of the Fault… constants.
	Fault string `json:"fault"`
	// Key is the Idempotency-Key or the Client-Reference to match.
	Key string `json:"key,omitempty"`
	// Endpoint is the path to match, such as "/v1/payments/capture".
	Endpoint string `json:"endpoint,omitempty"`
	// MatchBody is a substring of the body as received.
	MatchBody string `json:"match_body,omitempty"`
	// Times is how often the rule fires at most: 1 by default, 0 for always.
	Times *int `json:"times,omitempty"`
	// Every makes the rule fire at each n-th matching request only, counted from 1. The default is 1.
	Every int `json:"every,omitempty"`
	// RetryAfter is the Retry-After of an error in seconds. The default is none, of rate_limit 1.
	RetryAfter int `json:"retry_after,omitempty"`
	// Status and Code are those of the error that is answered.
	Status int    `json:"status,omitempty"`
	Code   string `json:"code,omitempty"`
	// DelayMS is how many milliseconds pass before the provider answers, performs or shows the effect.
	DelayMS int `json:"delay_ms,omitempty"`
	// Size is that of the answer's body, in bytes.
	Size int `json:"size,omitempty"`

	// Matched and Fired are counted by the provider and ignored when a rule is set.
	Matched int `json:"matched"`
	Fired   int `json:"fired"`
}

// scope is which requests a fault can change.
type scope int

const (
	scopeAny    scope = iota // every request that is not refused by itself
	scopeNew                 // only one that is going to perform its effect
	scopeKnown               // only one whose key is known or in use
	scopeLookup              // only lookups
)

// faultKind says what a fault can befall and which members belong to it.
type faultKind struct {
	scope scope
	keyed bool // only endpoints that honour keys
	// takes are the members that belong to the fault besides those of every rule, with their defaults.
	takes defaults
}

// defaults are the members of a fault that it has a use for. A zero value is no default; absent says that there is none.
type defaults struct {
	error      *wrong
	retryAfter *int
	delayMS    *int
	size       *int
}

// wrong is the status and code of an error.
type wrong struct {
	status int
	code   string
}

// absent, as a default, says that the member may be given and stands for nothing if it is not.
const absent = 0

var faultKinds = map[string]faultKind{
	FaultDropBeforeAct:          {scope: scopeAny},
	FaultDropAfterAct:           {scope: scopeAny},
	FaultErrorAfterAct:          {scope: scopeAny},
	FaultGatewayTimeout:         {scope: scopeAny},
	FaultGatewayTimeoutAfterAct: {scope: scopeAny},
	FaultRateLimit:              {scope: scopeAny, takes: defaults{retryAfter: new(1)}},
	FaultRefuse:                 {scope: scopeAny, takes: defaults{error: &wrong{402, CodeCardDeclined}, retryAfter: new(absent)}},
	FaultHangBeforeAct:          {scope: scopeAny},
	FaultHangAfterAct:           {scope: scopeAny},
	FaultSlow:                   {scope: scopeAny, takes: defaults{delayMS: new(1000)}},
	FaultLandLate:               {scope: scopeNew, takes: defaults{error: &wrong{}, delayMS: new(absent)}},
	FaultIgnoreKey:              {scope: scopeKnown, keyed: true},
	FaultPerformTwice:           {scope: scopeNew},
	FaultStoredError:            {scope: scopeNew, keyed: true, takes: defaults{error: &wrong{500, CodeInternal}}},
	FaultErrorStoredAfterAct:    {scope: scopeNew, keyed: true, takes: defaults{error: &wrong{500, CodeInternal}}},
	FaultMalformedBody:          {scope: scopeAny},
	FaultBrokenBody:             {scope: scopeAny},
	FaultHugeBody:               {scope: scopeAny, takes: defaults{size: new(2 << 20)}},
	FaultLookupLag:              {scope: scopeLookup, takes: defaults{delayMS: new(absent)}},
	FaultLookupError:            {scope: scopeLookup, takes: defaults{error: &wrong{500, CodeInternal}, retryAfter: new(absent)}},
}
