package check

import "time"

// Evidence is everything that a run left behind, once it had come to rest.
type Evidence struct {
	Asked     []Asked
	Intents   []Intent
	Attempts  []Attempt
	Decisions []Decision
	Lookups   []Lookup
	Receipts  []Receipt
	Documents []string // ids of the documents that are kept in PostgreSQL
	Ledger    []Effect
	Requests  []Request
	Workflows []Workflow
	Faults    []Fault
	// Seen are the digests of receipts as they were read while the run was going on.
	Seen map[ReceiptID]string
}

// Asked is one request of the run, and what its caller was told.
type Asked struct {
	Tool       string `json:"tool"`
	RequestKey string `json:"request_key"`
	// Mark is the value in the payload by which the effect is known: no two requests share one.
	Mark string `json:"mark"`
	// Confirmations is how many people have to confirm it.
	Confirmations int `json:"confirmations,omitempty"`
	// Accepted says that the caller was told that the intent is committed, or how it ended.
	Accepted bool `json:"accepted"`
	// Told is the end that the caller heard of: a state; empty if it did not wait for one.
	Told string `json:"told,omitempty"`
	// Refused is the error after which the caller did not ask again.
	Refused string `json:"refused,omitempty"`
}

// Intent is a row of the table intents.
type Intent struct {
	ID             string
	RequestKey     string
	Tool           string
	Class          string
	State          string
	Generation     int
	IdempotencyKey string
	Traceparent    string
	CreatedAt      time.Time
	Due            bool // something is still to be done
	Alert          string
	Confirmations  int // how many people the row wants to have confirmed it
	Commitment     string
}

// Decision is a row of the table decisions.
type Decision struct {
	IntentID   string
	Kind       string
	Principal  string
	Commitment string
	DecidedAt  time.Time
}

// Attempt is a row of the table attempts. An empty outcome means that there is no evidence.
type Attempt struct {
	IntentID  string
	Number    int
	ClaimedAt time.Time
	Outcome   string
}

// open reports whether the effect may have come from the attempt.
func (a Attempt) open() bool { return a.Outcome == "" || a.Outcome == "unknown" }

// Lookup is a row of the table lookups. An empty finding means that there was no answer.
type Lookup struct {
	IntentID string
	Finding  string
}

// ReceiptID names a receipt.
type ReceiptID struct {
	IntentID   string
	Generation int
	Number     int
}

// Receipt is a row of the table receipts.
type Receipt struct {
	ReceiptID
	Digest    string // of the body, hexadecimal
	CreatedAt time.Time
	// What the body says.
	SaysIntent  string
	SaysState   string
	SaysOutcome string
}

// Effect is a line of the provider's ledger.
type Effect struct {
	Time      time.Time `json:"time"`
	Endpoint  string    `json:"endpoint"`
	Key       string    `json:"key"`
	Reference string    `json:"reference"`
	RequestID string    `json:"request_id"`
	Body      struct {
		Payment   string `json:"payment_id"`
		Account   string `json:"account_id"`
		Document  string `json:"document_id"`
		Recipient string `json:"recipient"`
	} `json:"body"`
}

// Request is what the provider saw of one request.
type Request struct {
	ID          string    `json:"id"`
	Time        time.Time `json:"time"`
	Method      string    `json:"method"`
	Endpoint    string    `json:"endpoint"`
	Key         string    `json:"key"`
	Reference   string    `json:"reference"`
	Traceparent string    `json:"traceparent"`
	Fault       string    `json:"fault"`
	Status      int       `json:"status"`
}

// Workflow is a run in Temporal.
type Workflow struct {
	ID      string
	RunID   string
	Running bool
	Status  string
	// What the history says: how often a tool was invoked, how many of these invocations
	// Temporal ran more than once, what they found, and the state that the run ended with.
	Invocations int
	Repeated    int
	Evidence    []HistoryEvidence
	Result      string
}

// HistoryEvidence is what an invocation told its workflow.
type HistoryEvidence struct {
	Attempt int    `json:"attempt"`
	Outcome string `json:"outcome"`
}

// Fault is something that was done to the world.
type Fault struct {
	Kind  string    `json:"kind"`
	Began time.Time `json:"began"`
	Ended time.Time `json:"ended"`
}
