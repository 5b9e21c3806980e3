package tools

import (
	"slices"
	"strings"

	"writ/intent"
)

// Registered is a tool with the spec that was frozen when it was registered.
type Registered struct {
	Tool   Tool
	Spec   Spec
	Digest intent.Digest
	// Input and Output are the spec's schemas; nil where there is none.
	Input, Output *Schema
}

// Registry holds the tools of one worker. It does not change after NewRegistry, so it is
// safe for concurrent use.
type Registry struct {
	byName map[string]Registered
}

// NewRegistry freezes the tools' specs and compiles their schemas. It refuses an invalid
// spec and a second tool of the same name.
func NewRegistry(list ...Tool) (*Registry, error) {
	r := &Registry{byName: make(map[string]Registered, len(list))}
	for _, t := range list {
		spec, err := specOf(t)
		if err != nil {
			return nil, err
		}
		if err := spec.check(); err != nil {
			return nil, err
		}
		if err := spec.agreesWith(t); err != nil {
			return nil, err
		}
		spec = spec.withDefaults()
		if _, taken := r.byName[spec.Name]; taken {
			return nil, spec.invalid("the name is registered twice")
		}
		input, output, err := spec.compile()
		if err != nil {
			return nil, err
		}
		// Copies: what was registered must not change with the caller's bytes.
		spec.InputSchema, spec.OutputSchema = published(spec.InputSchema), published(spec.OutputSchema)
		spec.Consents, spec.DataClasses = sorted(spec.Consents), sorted(spec.DataClasses)
		r.byName[spec.Name] = Registered{Tool: t, Spec: spec, Digest: spec.Digest(), Input: input, Output: output}
	}
	return r, nil
}

// specOf reads the spec of a tool that may be nil, or a nil pointer whose Spec panics.
func specOf(t Tool) (spec Spec, err error) {
	defer func() {
		if recover() != nil {
			err = intent.Errorf(intent.CodeInvalidSpec, "a tool's Spec panicked; register only tools that were made")
		}
	}()
	spec = t.Spec()
	if hollow(t) {
		return Spec{}, spec.invalid("it has no function to run")
	}
	return spec, nil
}

// hollow reports whether t was made of no function.
func hollow(t Tool) bool {
	switch f := t.(type) {
	case funcTool:
		return f.invoke == nil
	case transactTool:
		return f.invoke == nil
	}
	return false
}

// agreesWith compares what the spec declares with what the tool can do.
func (s Spec) agreesWith(t Tool) error {
	_, reconciles := t.(Reconciler)
	_, transacts := t.(Transactor)
	switch {
	case s.Reconcilable && !reconciles:
		return s.invalid("it is declared Reconcilable and has no method Reconcile")
	case !s.Reconcilable && reconciles:
		return s.invalid("it has a method Reconcile that would never be used; declare it Reconcilable")
	case s.Transactional && !transacts:
		return s.invalid("it is declared Transactional and has no method InvokeTx")
	case !s.Transactional && transacts:
		return s.invalid("it has a method InvokeTx that would never be used; declare it Transactional")
	}
	return nil
}

// Lookup returns the tool of exactly that name.
func (r *Registry) Lookup(name string) (Registered, bool) {
	t, ok := r.byName[name]
	return t, ok
}

// All returns the tools, ordered by name.
func (r *Registry) All() []Registered {
	all := make([]Registered, 0, len(r.byName))
	for _, t := range r.byName {
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Registered) int { return strings.Compare(a.Spec.Name, b.Spec.Name) })
	return all
}
