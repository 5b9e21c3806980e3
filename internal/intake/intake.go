package intake

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// Door says what the input of a case is.
type Door string

const (
	// DoorPayload: the arguments of a tool.
	DoorPayload Door = "payload"
	// DoorRequest: a whole request, see writ.ParseRequest.
	DoorRequest Door = "request"
)

// The tools that the corpus is run with, and who asks. Both tools take any object.
const (
	// ToolAny has no input schema.
	ToolAny = "intake.any"
	// ToolObject has ObjectSchema as its input schema.
	ToolObject = "intake.object"
	Principal  = "intake"
)

// ObjectSchema wants an object and nothing more.
const ObjectSchema = `{"type":"object"}`

// Case is one line of the corpus: what is sent, and either its canonical payload or the
// code and the byte of its rejection.
type Case struct {
	Name string
	Door Door
	// Schema says that the tool's input schema wants an object.
	Schema bool
	Input  []byte
	// Canonical is the payload that a tool receives; nil if the input is rejected.
	Canonical []byte
	// Code is empty if the input is accepted.
	Code string
	// Offset counts in Input; -1 where the rejection is about no byte.
	Offset int64
}

// Tool is the tool that the case is sent to.
func (c Case) Tool() string {
	if c.Schema {
		return ToolObject
	}
	return ToolAny
}

// Cases returns the corpus in the order of its lines. It fails the test if there is a line
// that is not as the format says.
func Cases(t testing.TB) []Case {
	t.Helper()
	cases, err := load()
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

func load() ([]Case, error) {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return nil, fmt.Errorf("the corpus is found by the path of this source file, which is not known")
	}
	file, err := os.Open(filepath.Join(filepath.Dir(here), "..", "..", "intent", "testdata", "intake.jsonl"))
	if err != nil {
		return nil, err
	}
	defer file.Close()
	var cases []Case
	names := map[string]bool{}
	lines := bufio.NewScanner(file)
	for number := 1; lines.Scan(); number++ {
		c, err := parse(lines.Bytes())
		if err == nil && names[c.Name] {
			err = fmt.Errorf("the name %q is taken", c.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("%s:%d: %w", file.Name(), number, err)
		}
		names[c.Name] = true
		cases = append(cases, c)
	}
	return cases, lines.Err()
}

// line is a case as it is written.
type line struct {
	Name           string  `json:"name"`
	Door           Door    `json:"door"`
	Schema         bool    `json:"schema"`
	Input          *string `json:"input"`
	InputBase64    []byte  `json:"input_base64"`
	InputParts     []part  `json:"input_parts"`
	Canonical      *string `json:"canonical"`
	CanonicalParts []part  `json:"canonical_parts"`
	Code           string  `json:"code"`
	Offset         *int64  `json:"offset"`
}

// part is a text that is repeated, so that megabytes are not stored.
type part struct {
	Text  string `json:"text"`
	Times *int   `json:"times"`
}

func parse(text []byte) (Case, error) {
	var l line
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&l); err != nil {
		return Case{}, err
	}
	c := Case{Name: l.Name, Door: l.Door, Schema: l.Schema, Code: l.Code, Offset: -1}
	if c.Door == "" {
		c.Door = DoorPayload
	}
	if c.Name == "" || c.Door != DoorPayload && c.Door != DoorRequest {
		return Case{}, fmt.Errorf("a case has a name, and the door %q or %q", DoorPayload, DoorRequest)
	}
	inputs, canonicals := written(l.Input, l.InputParts), written(l.Canonical, l.CanonicalParts)
	if l.InputBase64 != nil {
		inputs = append(inputs, l.InputBase64)
	}
	if len(inputs) != 1 {
		return Case{}, fmt.Errorf("%s: exactly one of input, input_base64 and input_parts is needed", c.Name)
	}
	c.Input = inputs[0]
	switch {
	case l.Code == "" && l.Offset == nil && len(canonicals) == 1:
		c.Canonical = canonicals[0]
	case l.Code != "" && l.Offset != nil && len(canonicals) == 0:
		c.Offset = *l.Offset
	default:
		return Case{}, fmt.Errorf("%s: either canonical or canonical_parts, or code and offset are needed", c.Name)
	}
	return c, nil
}

// written returns what stands in a line as text and as parts.
func written(text *string, parts []part) [][]byte {
	var all [][]byte
	if text != nil {
		all = append(all, []byte(*text))
	}
	if parts == nil {
		return all
	}
	var b strings.Builder
	for _, p := range parts {
		times := 1
		if p.Times != nil {
			times = *p.Times
		}
		b.WriteString(strings.Repeat(p.Text, times))
	}
	return append(all, []byte(b.String()))
}
