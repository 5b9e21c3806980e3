package demo

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"

	"writ"
	"writ/intent"
)

// principal is who asks for the captures.
const principal = "writ-demo"

// capture is one line of the file of captures.
type capture struct {
	RequestKey string          `json:"request_key"`
	Tool       string          `json:"tool"`
	Payload    json.RawMessage `json:"payload"`
}

func (c capture) request() writ.Request {
	return writ.Request{Tool: c.Tool, RequestKey: c.RequestKey, Payload: c.Payload, Principal: principal}
}

// intentID is the id of the intent that the request becomes.
func (c capture) intentID() intent.ID {
	return intent.IntentID(writ.DefaultTenant, intent.RequestKey(c.RequestKey))
}

// readCaptures reads a file with one JSON object a line. No two may have the
// same request key: they would be one capture.
func readCaptures(path string) ([]capture, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the captures: %w", err)
	}
	defer file.Close()
	var captures []capture
	seen := map[string]bool{}
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		var c capture
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, fmt.Errorf("read the captures: %s, line %d: %w", path, number, err)
		}
		if c.RequestKey == "" || seen[c.RequestKey] {
			return nil, fmt.Errorf("read the captures: %s, line %d: request key %q is missing or not new", path, number, c.RequestKey)
		}
		seen[c.RequestKey] = true
		captures = append(captures, c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read the captures: %w", err)
	}
	return captures, nil
}
