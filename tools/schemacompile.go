package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"writ/intent"
)

// The limits of a schema.
const (
	// MaxSchema is the size in bytes that a schema may have in canonical form.
	MaxSchema = 256 << 10
	// maxSubschemas bounds what the compiler, whose time grows with the square of it, is given.
	maxSubschemas = 5000
	// maxPattern is the size in bytes of a regular expression, and maxProgram how many
	// instructions it may compile to: x{1000} is short and not small. maxPrograms bounds those
	// of all expressions together, and so the time that compiling takes.
	maxPattern  = 1000
	maxProgram  = 5000
	maxPrograms = 20_000
	// maxCount bounds what counts characters, items or members; the library keeps an int.
	maxCount = 1 << 30
)

const (
	// draft is the only dialect that is taken.
	draft = "https://json-schema.org/draft/2020-12/schema"
	// home is where a schema without an $id is taken to live. RFC 2606 keeps .invalid from
	// ever naming a host, so that no relative reference leads anywhere.
	home = "https://schema.invalid/document"
)

// canonicalSchema returns the canonical form of a schema that keeps the limits.
func canonicalSchema(raw json.RawMessage) ([]byte, error) {
	canonical, err := intent.Canonicalize(raw)
	if err != nil {
		return nil, fmt.Errorf("is not usable: %w", err)
	}
	if len(canonical) > MaxSchema {
		return nil, fmt.Errorf("has %d bytes and %d are allowed", len(canonical), MaxSchema)
	}
	if canonical[0] != '{' && canonical[0] != 't' && canonical[0] != 'f' {
		return nil, errors.New("must be an object, true or false")
	}
	return canonical, nil
}

// compile compiles a canonical schema and finds every part of it that a check can reach.
func compile(canonical []byte) (*graph, error) {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(canonical)))
	if err != nil {
		return nil, fmt.Errorf("is not usable: %w", err)
	}
	found, err := inspect(doc)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft2020)
	compiler.UseLoader(noLoader{})
	compiler.UseRegexpEngine(new(patterns).compile)
	if err := compiler.AddResource(home, doc); err != nil {
		return nil, fmt.Errorf("is not usable: %w", err)
	}
	root, err := compiler.Compile(home)
	if err != nil {
		return nil, compileError(err)
	}
	g := newGraph(root)
	for _, pointer := range found.anchors {
		anchored, err := compiler.Compile(home + "#" + pointer)
		if err != nil {
			return nil, compileError(err)
		}
		g.anchored[anchored.DynamicAnchor] = append(g.anchored[anchored.DynamicAnchor], anchored)
	}
	return g, g.walk()
}

// compileError says in one line what is wrong with a schema.
func compileError(err error) error {
	var invalid *jsonschema.SchemaValidationError
	var failure *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &failure) {
		return fmt.Errorf("is not of draft 2020-12: %w", render(failure, nil))
	}
	var load *jsonschema.LoadURLError
	if errors.As(err, &load) {
		return fmt.Errorf("refers to %s, outside of itself; put what it refers to under $defs", quoteCut(load.URL))
	}
	return fmt.Errorf("is not usable: %s", cut(err.Error(), 400))
}

// noLoader refuses every reference that leaves the document, to files too.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) { return nil, errors.New("nothing is loaded") }

// findings is what is read from a schema's text.
type findings struct {
	subschemas int
	// anchors are the places of $dynamicAnchor, as URI fragments. They can be reached
	// without being referred to.
	anchors []string
}

// inspect reads what the compiler does not tell.
func inspect(doc any) (findings, error) {
	var found findings
	err := found.read(doc, "")
	if err == nil && found.subschemas > maxSubschemas {
		err = fmt.Errorf("has %d subschemas and %d are allowed", found.subschemas, maxSubschemas)
	}
	return found, err
}

func (f *findings) read(v any, fragment string) error {
	switch v := v.(type) {
	case bool:
		f.subschemas++
	case []any:
		for i, item := range v {
			if err := f.read(item, fmt.Sprintf("%s/%d", fragment, i)); err != nil {
				return err
			}
		}
	case map[string]any:
		f.subschemas++
		if dialect, ok := v["$schema"].(string); ok && strings.TrimSuffix(dialect, "#") != draft {
			return fmt.Errorf("has the dialect %s; $schema must be %q, or absent", quoteCut(dialect), draft)
		}
		if _, ok := v["$dynamicAnchor"].(string); ok {
			f.anchors = append(f.anchors, fragment)
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			if err := checkCount(name, v[name]); err != nil {
				return err
			}
			if err := f.read(v[name], fragment+"/"+fragmentToken(name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkCount refuses a keyword that counts and does not fit into an int. A number under such
// a name in a const or an enum is refused too; it would be a strange constant.
func checkCount(keyword string, value any) error {
	number, ok := value.(json.Number)
	if !ok || !slices.Contains(counting, keyword) {
		return nil
	}
	if n, err := number.Int64(); err != nil || n < 0 || n > maxCount {
		return fmt.Errorf("has %s %s; choose an integer between 0 and %d", keyword, cut(number.String(), 40), maxCount)
	}
	return nil
}

var counting = []string{
	"maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties", "maxContains", "minContains",
}

// fragmentToken is one name of a JSON pointer in a URI fragment (RFC 6901, section 6).
func fragmentToken(name string) string { return url.PathEscape(pointerToken(name)) }

// pattern is a compiled regular expression that knows its size.
//
// Go's engine is RE2: its time is linear in the text, whatever the expression
// (https://pkg.go.dev/regexp: "guaranteed to run in time linear in the size of the input").
// It has no look-around and no back-references; an expression with one is refused.
type pattern struct {
	*regexp.Regexp
	instructions int
}

// patterns compiles the regular expressions of one schema.
type patterns struct{ instructions int }

func (p *patterns) compile(expression string) (jsonschema.Regexp, error) {
	if len(expression) > maxPattern {
		return nil, fmt.Errorf("the regular expression has %d bytes and %d are allowed", len(expression), maxPattern)
	}
	tree, err := syntax.Parse(expression, syntax.Perl)
	if err != nil {
		return nil, err
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return nil, err
	}
	if len(program.Inst) > maxProgram {
		return nil, fmt.Errorf("the regular expression compiles to %d instructions and %d are allowed; repeat less", len(program.Inst), maxProgram)
	}
	if p.instructions += len(program.Inst); p.instructions > maxPrograms {
		return nil, fmt.Errorf("the regular expressions compile to more than %d instructions together", maxPrograms)
	}
	compiled, err := regexp.Compile(expression)
	if err != nil {
		return nil, err
	}
	return &pattern{compiled, len(program.Inst)}, nil
}
