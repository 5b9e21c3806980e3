package cedar

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cedar-policy/cedar-go"

	"writ/policy"
)

// FromFiles reads policies from texts under the names of their files, as [Load] does from a
// folder. Its errors are those of Load.
func FromFiles(files map[string]string) (*Set, error) {
	s := &Set{
		files: maps.Clone(files), binding: cedar.NewPolicySet(), demands: cedar.NewPolicySet(), deciding: cedar.NewPolicySet(),
		governed: map[policy.Action]bool{},
	}
	if err := tooMuch(files); err != nil {
		return nil, err
	}
	var wrong Faults
	for _, name := range slices.Sorted(maps.Keys(files)) {
		wrong = append(wrong, s.readFile(name, files[name])...)
		if len(s.rules) > MaxPolicies {
			return nil, invalid("there are more than %d policies; say several things in one, with sets and groups, or divide the tools among workers with policies of their own", MaxPolicies)
		}
	}
	if len(wrong) == 0 && len(s.rules) == 0 {
		return nil, invalid("the folder has no policy; nothing would ever be permitted. Write one into a file whose name ends in .cedar")
	}
	wrong = append(wrong, s.seal()...)
	if err := wrong.asError(); err != nil {
		return nil, err
	}
	return s, nil
}

// tooMuch is the error of files that are more than a set may have. It comes before any is read.
func tooMuch(files map[string]string) error {
	size := 0
	for _, text := range files {
		size += len(text)
	}
	switch {
	case len(files) > MaxPolicies:
		return invalid("there are %d files and %d are allowed; write several policies into one", len(files), MaxPolicies)
	case size > MaxText:
		return invalid("the files have %d bytes together and %d are allowed", size, MaxText)
	}
	return nil
}

// Stored is [FromFiles] of what was stored under a digest. What is another set by now is no set.
func Stored(digest string, files map[string]string) (*Set, error) {
	s, err := FromFiles(files)
	if err != nil {
		return nil, err
	}
	if s.digest.String() != digest {
		return nil, invalid("what is stored as the policies %s has the digest %s: it was changed by hand", digest, s.digest)
	}
	return s, nil
}

// Files returns the texts that the policies were read from, under the names of their files.
func (s *Set) Files() map[string]string { return maps.Clone(s.files) }

// Fault is something that is wrong with a set of policies.
type Fault struct {
	File string `json:"file"`
	// Line counts from 1; 0 is the file as a whole.
	Line    int    `json:"line,omitempty"`
	Message string `json:"message"`
}

// String returns "file:line: message".
func (f Fault) String() string {
	if f.Line == 0 {
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d: %s", f.File, f.Line, f.Message)
}

// Faults are all that is wrong with a set, in the order of files and lines. An error with code
// invalid_policy wraps them.
type Faults []Fault

func (list Faults) Error() string {
	texts := make([]string, len(list))
	for i, f := range list {
		texts[i] = f.String()
	}
	return strings.Join(texts, "; ")
}

// asError is nil if there are none.
func (list Faults) asError() error {
	if len(list) == 0 {
		return nil
	}
	slices.SortFunc(list, func(a, b Fault) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, strings.Compare(a.Message, b.Message))
	})
	return invalid("%w", list)
}

// inInput is where the parser says that a file is wrong: "<input>:line:column".
var inInput = regexp.MustCompile(`<input>:([0-9]+):[0-9]+`)

// unparsed is the fault of a text that is no Cedar.
func unparsed(file string, err error) Fault {
	f := Fault{File: file, Message: strings.TrimPrefix(err.Error(), "parser error: ")}
	if at := inInput.FindStringSubmatch(f.Message); at != nil {
		f.Line, _ = strconv.Atoi(at[1])
		f.Message = inInput.ReplaceAllString(f.Message, "line $1")
	}
	return f
}

// prints reports whether a text is UTF-8, on one line, and shows what it holds.
func prints(text string) bool {
	return utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// steers reports a character that changes how those around it are shown: a policy must read as what it
// says (Unicode Technical Standard 55, "Source Code Handling").
func steers(r rune) bool { return unicode.Is(unicode.Bidi_Control, r) }

func (s *Set) readFile(name, text string) (wrong Faults) {
	switch {
	case !prints(name):
		return Faults{{File: name, Message: "its name has a character that does not print; rename it"}} // ids are made of it
	case len(text) > MaxFile:
		return Faults{{File: name, Message: fmt.Sprintf("it has more than %d bytes", MaxFile)}}
	case !utf8.ValidString(text):
		return Faults{{File: name, Message: "it is not UTF-8"}}
	case strings.HasPrefix(text, "\ufeff"):
		return Faults{{File: name, Line: 1, Message: "it begins with a byte order mark; save it without one"}}
	}
	if at := strings.IndexFunc(text, steers); at >= 0 {
		return Faults{{File: name, Line: 1 + strings.Count(text[:at], "\n"), Message: "it has a character that turns the direction of the text, so that it reads otherwise than it is; write it as an escape"}}
	}
	if line := nestedTooDeep(text); line > 0 {
		return Faults{{File: name, Line: line, Message: fmt.Sprintf("brackets are nested deeper than %d levels", MaxDepth)}}
	}
	list, err := cedar.NewPolicyListFromBytes(name, []byte(text))
	if err != nil {
		return Faults{unparsed(name, err)}
	}
	for _, p := range list {
		r, faults := ruleOf(name, p)
		if tooDeep(p) {
			wrong = append(wrong, r.fault("a condition is nested deeper than %d levels; name alternatives in a set, or write several policies", MaxDepth))
			continue
		}
		s.rules, wrong = append(s.rules, r), append(wrong, faults...)
	}
	return wrong
}
