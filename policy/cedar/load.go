package cedar

import (
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/cedar-policy/cedar-go"

	"writ/intent"
	"writ/policy"
)

// The limits of a set.
const (
	// MaxFile is the size of one file in bytes, and MaxText that of all.
	MaxFile = 1 << 20
	MaxText = 4 << 20
	// MaxPolicies is how many policies a set may have, and how many files.
	MaxPolicies = policy.MaxPolicies
	// MaxEntries is how many files and folders there may be below the one that Load reads.
	MaxEntries = 50_000
	// MaxApprovers is how many people @confirm may ask for.
	MaxApprovers = policy.MaxApprovers
	// MaxReason is the length of a @reason in bytes. It stands in decisions and receipts.
	MaxReason = 1000
	// MaxDepth is how many levels an expression may nest. Each operator is one: of a chain as a || b || c,
	// every operator nests those before it. What is within it has a canonical form.
	MaxDepth = 60
	// maxID is the length of an id in bytes, as of every name.
	maxID = 255
)

// Set is the policies of a folder. It does not change, and is safe for concurrent use.
type Set struct {
	files  map[string]string
	rules  []rule // ordered by id
	digest intent.Digest
	read   readers
	tools  map[string]hosted // nil until ForTools
	// binding are the permits and the forbids, demands the forbids that ask for people, and
	// deciding what of binding rules who may decide.
	binding, demands, deciding *cedar.PolicySet
	// governed are the deciding actions that some policy's head names.
	governed map[policy.Action]bool
}

// rule is one policy.
type rule struct {
	id, file string
	policy   *cedar.Policy
	actions  []policy.Action // that its head names; none: it names none
	// approvers is how many people @confirm asks for; 0: it does not.
	approvers int
	reason    string // @reason
}

// at says where the rule stands.
func (r rule) at() string { return fmt.Sprintf("%s:%d", r.file, r.policy.Position().Line) }

// fault is something that is wrong with the rule.
func (r rule) fault(format string, args ...any) Fault {
	return Fault{File: r.file, Line: r.policy.Position().Line, Message: fmt.Sprintf(format, args...)}
}

// Load reads every file of the folder whose name ends in ".cedar", and of the folders in it. The
// id of a policy is its @id, else its file and line; no two may be equal. Errors have code
// invalid_policy; those about what the files say wrap all [Faults].
func Load(folder fs.FS) (*Set, error) {
	files, entries := map[string]string{}, 0
	err := fs.WalkDir(folder, ".", func(name string, entry fs.DirEntry, err error) error {
		if entries++; entries > MaxEntries {
			return fmt.Errorf("there are more than %d files and folders below it; name the folder of the policies alone", MaxEntries)
		}
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".cedar") {
			return err
		}
		if len(files) == MaxPolicies {
			return fmt.Errorf("it has more than %d files", MaxPolicies)
		}
		info, err := fs.Stat(folder, name)
		if err != nil {
			return err
		}
		if !info.Mode().IsRegular() {
			return fmt.Errorf("%s is no file", name) // a pipe or a device has no end
		}
		if info.Size() > MaxFile {
			return fmt.Errorf("%s has more than %d bytes", name, MaxFile)
		}
		text, err := fs.ReadFile(folder, name)
		files[name] = string(text)
		return err
	})
	if err != nil {
		return nil, invalid("the policies cannot be read: %w", err)
	}
	return FromFiles(files)
}

// ruleOf reads the annotations. An annotation that nobody knows is refused: a misspelt @confirm
// would be a plain forbid, and a misspelt @id another policy in every receipt.
func ruleOf(file string, p *cedar.Policy) (r rule, wrong Faults) {
	r = rule{file: file, policy: p}
	r.id = r.at()
	if len(r.id) > maxID {
		wrong = append(wrong, r.fault("the name of its file is too long to be the id of a policy; shorten it"))
	}
	for key, value := range p.Annotations() {
		switch key {
		case "id":
			r.id = string(value)
			if err := intent.CheckName("policy id", r.id); err != nil {
				wrong = append(wrong, r.fault("%v", err))
			}
		case "reason":
			r.reason = string(value)
			if len(r.reason) > MaxReason || !prints(r.reason) {
				wrong = append(wrong, r.fault("@reason is one line of at most %d bytes, and all of it prints", MaxReason))
			}
		case "confirm":
			people, err := strconv.Atoi(string(value))
			if value == "" {
				people, err = 1, nil
			}
			if err != nil || people < 1 || people > MaxApprovers || p.Effect() != cedar.Forbid {
				wrong = append(wrong, r.fault(`@confirm("N") stands before a forbid, and N is the number of people, from 1 to %d`, MaxApprovers))
			}
			r.approvers = people
		default:
			wrong = append(wrong, r.fault("the annotation @%s is not known; there are @id, @reason and @confirm", key))
		}
	}
	return r, append(wrong, r.readActions()...)
}

// seal orders the rules, finds ids that two have, and computes the digest.
func (s *Set) seal() (wrong Faults) {
	slices.SortStableFunc(s.rules, func(a, b rule) int { return strings.Compare(a.id, b.id) })
	forms := make([]intent.PolicyForm, len(s.rules))
	for i, r := range s.rules {
		if i > 0 && s.rules[i-1].id == r.id {
			wrong = append(wrong, r.fault("the policy at %s has the id %q too", s.rules[i-1].at(), r.id))
		}
		if err := s.add(r, &forms[i]); err != nil {
			wrong = append(wrong, r.fault("the policy has no canonical form: %v", err))
		}
	}
	s.digest = intent.PolicyDigest(forms)
	return wrong
}

func (s *Set) add(r rule, form *intent.PolicyForm) error {
	encoded, err := r.policy.MarshalJSON()
	if err == nil {
		encoded, err = intent.Canonicalize(encoded)
	}
	if err != nil {
		return err
	}
	*form = intent.PolicyForm{ID: r.id, Policy: encoded}
	s.read.add(r.policy)
	if r.approvers > 0 {
		s.demands.Add(cedar.PolicyID(r.id), r.policy)
		return nil
	}
	s.binding.Add(cedar.PolicyID(r.id), r.policy)
	if r.decides() {
		s.deciding.Add(cedar.PolicyID(r.id), r.policy)
	}
	for _, action := range r.actions {
		s.governed[action] = true
	}
	return nil
}

// Digest names the set: equal for equal ids and policies, whatever their comments, layout and
// files. It stands in decisions and receipts.
func (s *Set) Digest() intent.Digest { return s.digest }

// IDs returns the policies' ids in order.
func (s *Set) IDs() []string {
	ids := make([]string, len(s.rules))
	for i, r := range s.rules {
		ids[i] = r.id
	}
	return ids
}

func invalid(format string, args ...any) error {
	return intent.Errorf(intent.CodeInvalidPolicy, format, args...)
}
