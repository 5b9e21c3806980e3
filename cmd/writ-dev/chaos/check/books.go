package check

import (
	"encoding/json"
	"fmt"
	"io"
)

// ReadLedger reads the provider's ledger, one JSON object a line.
func ReadLedger(lines io.Reader) ([]Effect, error) { return readLines[Effect](lines, "the ledger") }

// ReadRequests reads what the provider saw, one JSON object a line. Of several with one id
// the last one counts: a request is logged again when it has got further.
func ReadRequests(lines io.Reader) ([]Request, error) {
	all, err := readLines[Request](lines, "the log of requests")
	if err != nil {
		return nil, err
	}
	at := map[string]int{}
	var requests []Request
	for _, r := range all {
		if i, known := at[r.ID]; known {
			requests[i] = r
			continue
		}
		at[r.ID] = len(requests)
		requests = append(requests, r)
	}
	return requests, nil
}

func readLines[T any](lines io.Reader, what string) ([]T, error) {
	var all []T
	for in := json.NewDecoder(lines); ; {
		var one T
		switch err := in.Decode(&one); err {
		case nil:
			all = append(all, one)
		case io.EOF:
			return all, nil
		default:
			return nil, fmt.Errorf("read %s, object %d: %w", what, len(all)+1, err)
		}
	}
}
