package check

import "time"

// The effect classes, as this judge understands them.
const (
	read          = "read"
	transactional = "transactional"
	keyed         = "keyed"
	reconcilable  = "reconcilable"
	opaque        = "opaque"
)

// classes are the rows of the report, in its order.
var classes = []string{keyed, reconcilable, opaque, transactional, read}

// tool is what the judge expects of a sample tool.
type tool struct {
	class string
	// endpoint is the provider's path; empty if the effect is not with the provider.
	endpoint string
	// happened tells from the kept documents whether an effect in the database is there.
	happened func(kept bool) bool
}

var tools = map[string]tool{
	"payments.capture":   {class: keyed, endpoint: "/v1/payments/capture"},
	"payments.refund":    {class: keyed, endpoint: "/v1/payments/refund"},
	"documents.delete":   {class: keyed, endpoint: "/v1/documents/delete"},
	"transfers.create":   {class: reconcilable, endpoint: "/v1/transfers/create"},
	"notifications.send": {class: opaque, endpoint: "/v1/notifications/send"},
	"documents.store":    {class: transactional, happened: func(kept bool) bool { return kept }},
	"documents.purge":    {class: transactional, happened: func(kept bool) bool { return !kept }},
	"echo":               {class: read},
}

// The budgets of the sample tools: only when they are spent may a tool whose effect can be
// sent again or looked up be in doubt.
const (
	allAttempts = 10
	allLookups  = 10
)

// transferLookup is the path at which transfers are looked up.
const transferLookup = "/v1/transfers"

// trusted is how long after a request to the provider a lookup that does not show it may be
// trusted: the time limit of the request, and the settle delay after it.
const trusted = 10*time.Second + 2*time.Second

// mark returns the value by which the effect is known.
func (e Effect) mark() string {
	switch e.Endpoint {
	case "/v1/payments/capture", "/v1/payments/refund":
		return e.Body.Payment
	case "/v1/transfers/create":
		return e.Body.Account
	case "/v1/documents/delete":
		return e.Body.Document
	case "/v1/notifications/send":
		return e.Body.Recipient
	}
	return ""
}
