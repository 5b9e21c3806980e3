package chaos

import (
	"fmt"
	"math/rand/v2"

	"writ"
)

// principal is who asks for everything.
const principal = "writ-chaos"

// portion says how often a tool is asked for, of all portions.
type portion struct {
	tool    string
	weight  int
	payload func(mark string) string
	// confirmations is how many people the workers' policies want to confirm it.
	confirmations int
}

// captureOf is the payload of a capture.
func captureOf(amount string) func(mark string) string {
	return func(mark string) string {
		return fmt.Sprintf(`{"payment_id":%q,"amount":%q,"currency":"EUR"}`, mark, amount)
	}
}

var portions = []portion{
	{"payments.capture", 3, captureOf("12.50"), 0},
	{"payments.capture", 1, captureOf("112.50"), 1},
	{"payments.capture", 1, captureOf("1112.50"), 2},
	{"payments.refund", 2, func(mark string) string { return fmt.Sprintf(`{"payment_id":%q,"amount":"1.25"}`, mark) }, 0},
	{"documents.delete", 2, func(mark string) string { return fmt.Sprintf(`{"document_id":%q}`, mark) }, 0},
	{"transfers.create", 4, func(mark string) string {
		return fmt.Sprintf(`{"account_id":%q,"amount":"99.00","currency":"EUR"}`, mark)
	}, 0},
	{"notifications.send", 3, func(mark string) string { return fmt.Sprintf(`{"recipient":%q,"body":"shipped"}`, mark) }, 0},
	{"documents.store", 2, func(mark string) string {
		return fmt.Sprintf(`{"document_id":%q,"title":"an invoice","content":"12.50 EUR"}`, mark)
	}, 0},
	{purgeTool, 2, func(mark string) string { return fmt.Sprintf(`{"document_id":%q}`, mark) }, 0},
	{"echo", 2, func(mark string) string { return fmt.Sprintf(`{"mark":%q}`, mark) }, 0},
}

// purgeTool deletes documents, which must be there before.
const purgeTool = "documents.purge"

// order is one request of the load.
type order struct {
	request writ.Request
	// mark is in the payload of this request and of no other.
	mark string
	// confirmations is how many people have to confirm it.
	confirmations int
	// waits says that the caller waits for the end, and not only for the acceptance.
	waits bool
	// traceparent is the caller's trace, by which the provider's log is told apart.
	traceparent string
}

// orderOf returns the n-th request of the seed's load, counted from 1.
func orderOf(seed uint64, n int) order {
	random := rand.New(rand.NewPCG(seed+uint64(n)<<32, streamLoad))
	total := 0
	for _, p := range portions {
		total += p.weight
	}
	drawn, chosen := random.IntN(total), portions[0]
	for _, chosen = range portions {
		if drawn -= chosen.weight; drawn < 0 {
			break
		}
	}
	mark := fmt.Sprintf("chaos-%d-%d", seed, n)
	return order{
		request: writ.Request{
			Tool: chosen.tool, Payload: []byte(chosen.payload(mark)), RequestKey: mark, Principal: principal,
		},
		mark: mark, confirmations: chosen.confirmations,
		waits:       random.IntN(3) == 0,
		traceparent: fmt.Sprintf("00-%032x-%016x-01", n, n), // any but all zeros will do
	}
}
