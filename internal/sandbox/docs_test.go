package sandbox

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const docPath = "../../docs/sandbox.md"

func readDoc(t *testing.T) string {
	t.Helper()
	doc, err := os.ReadFile(docPath)
	if err != nil {
		t.Fatal(err)
	}
	return string(doc)
}

// tableUnder returns the quoted first cells of the first table after the line that starts with head.
func tableUnder(t *testing.T, doc, head string) []string {
	t.Helper()
	_, table, found := strings.Cut(doc, "\n"+head)
	if !found {
		t.Fatalf("the page has no line %q", head)
	}
	var cells []string
	for line := range strings.Lines(table) {
		if cell := regexp.MustCompile("^\\| `([^`]+)`").FindStringSubmatch(line); cell != nil {
			cells = append(cells, cell[1])
		} else if len(cells) > 0 {
			break
		}
	}
	return slices.Sorted(slices.Values(cells))
}

// declared returns the values of the package's string constants whose names start with prefix.
func declared(t *testing.T, file, prefix string) []string {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || !strings.HasPrefix(spec.Names[0].Name, prefix) || len(spec.Values) != 1 {
			return true
		}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok && literal.Kind == token.STRING {
			value, err := strconv.Unquote(literal.Value)
			if err != nil {
				t.Fatal(err)
			}
			values = append(values, value)
		}
		return true
	})
	slices.Sort(values)
	return values
}

func TestThePageNamesExactlyWhatThereIs(t *testing.T) {
	t.Parallel()
	doc := readDoc(t)
	var paths []string
	for endpoint := range maps.Keys(operations) {
		paths = append(paths, "POST "+endpoint)
	}
	slices.Sort(paths)
	var members []string
	for field := range reflect.TypeFor[Fault]().Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name != "matched" && name != "fired" {
			members = append(members, name)
		}
	}
	slices.Sort(members)
	for _, c := range []struct {
		what, head string
		want       []string
	}{
		{"endpoints", "| Endpoint |", paths},
		{"faults", "| Fault |", faultNames()},
		{"members of a fault", "| Member |", members},
		{"states", "| State |", slices.Sorted(slices.Values(states))},
		{"codes", "| Code |", declared(t, "problem.go", "Code")},
	} {
		if got := tableUnder(t, doc, c.head); !slices.Equal(got, c.want) {
			t.Errorf("%s:\n  the page has %q\n  the code has %q", c.what, got, c.want)
		}
	}
	if declared := declared(t, "fault.go", "Fault"); len(declared) != len(faultNames())+1 { // and FaultHeader
		t.Errorf("the declared faults are %q, the listed ones %q", declared, faultNames())
	}
}

func TestThePagesExamplesAreWhatTheProviderReadsAndWrites(t *testing.T) {
	t.Parallel()
	var entries, faults int
	for _, block := range regexp.MustCompile("(?s)```json\n(.*?)```").FindAllStringSubmatch(readDoc(t), -1) {
		in := json.NewDecoder(strings.NewReader(block[1]))
		in.DisallowUnknownFields()
		if strings.HasPrefix(block[1], `{"fault"`) {
			faults++
			var fault Fault
			if err := in.Decode(&fault); err != nil {
				t.Error(err)
			} else if p := fault.check(); p != nil {
				t.Errorf("%s: %s", block[1], p.message)
			}
			continue
		}
		entries++
		lines, whole, torn, err := readLedger(strings.NewReader(block[1]))
		if err != nil || len(lines) != 1 || torn != 0 {
			t.Fatalf("the example reads as %d lines of %d bytes, %d torn, %v", len(lines), whole, torn, err)
		}
		entry := lines[0].entry
		members, p := operations[entry.Endpoint].parse(entry.Body)
		if p != nil {
			t.Fatal(p.message)
		}
		entry.BodySHA256 = digest(entry.Body)
		answer, err := operations[entry.Endpoint].answer(entry.EffectID, members)
		if err != nil {
			t.Fatal(err)
		}
		entry.Answer = answer
		if written, err := marshal(entry); err != nil || string(written)+"\n" != block[1] {
			t.Errorf("the provider would write\n%s\nthe page says\n%s", written, block[1])
		}
	}
	if entries != 1 || faults != 1 {
		t.Errorf("the page has %d example entries and %d example faults", entries, faults)
	}
}
