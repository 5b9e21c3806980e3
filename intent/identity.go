package intent

import (
	"errors"
	"slices"
	"strings"
)

// How many roles a principal may state, and how many others it may act for.
const (
	MaxRoles      = 32
	MaxDelegation = 8
)

// SystemPrincipals is how the names begin under which Writ itself acts: its circuit breaker, for
// instance. They stand in its records, and nobody else may ask or decide under such a name.
const SystemPrincipals = "writ:"

// Check checks the names of the context, its roles, its delegation and its source; a tenant is
// required. The errors have codes unauthenticated, system_principal, invalid_name and
// invalid_request.
func (c EffectContext) Check() error {
	if c.Principal == "" {
		return Errorf(CodeUnauthenticated, "the request names no principal; say who asks")
	}
	if err := CheckIdentity(c.Principal, c.Roles, c.OnBehalfOf); err != nil {
		return unsent(err)
	}
	if err := CheckName("tenant", c.Tenant); err != nil {
		return err
	}
	for _, name := range []struct{ what, value string }{
		{"service", c.Service}, {"process", c.Process}, {"run", c.Run},
		{"session hash", c.SessionHash}, {"host binding", c.HostBinding},
	} {
		if err := CheckOptionalName(name.what, name.value); err != nil {
			return err
		}
	}
	if !IsRisk(c.Risk) {
		return Errorf(CodeInvalidRequest, "the risk is %v; say a number from 0 to 1", c.Risk)
	}
	return CheckSource(c.AuthenticationSource)
}

// CheckIdentity checks what somebody states of who they are: a principal, which is not one of
// Writ's own, with its roles in order and for whom it acts. The errors are those of Check.
func CheckIdentity(principal string, roles, onBehalfOf []string) error {
	if err := checkPrincipal("principal", principal); err != nil {
		return err
	}
	if err := checkRoles(roles); err != nil {
		return err
	}
	return checkDelegation(principal, onBehalfOf)
}

// CheckSource checks the source of an identity that came without a credential: none, or
// AuthenticatedDirect. Whoever could state another one could call themselves proven. The errors
// have codes invalid_name and invalid_request.
func CheckSource(source string) error {
	if source == "" || source == AuthenticatedDirect {
		return nil
	}
	if err := CheckName("authentication source", source); err != nil {
		return err
	}
	return Errorf(CodeInvalidRequest, "the authentication source %.64q cannot be stated, because nothing here proves it; leave it out, or say %q", source, AuthenticatedDirect)
}

// unsent is the error of a request that is refused for what it is: nothing happened for it, where
// one of a decision leaves open what its intent did.
func unsent(err error) error {
	var e *Error
	if errors.As(err, &e) {
		return e.Proven(NotApplied)
	}
	return err
}

// SortRoles returns the roles as a context has them: in order, each once. roles is not changed.
func SortRoles(roles []string) []string {
	return slices.Compact(slices.Sorted(slices.Values(roles)))
}

func checkPrincipal(what, name string) error {
	if err := CheckName(what, name); err != nil {
		return err
	}
	if strings.HasPrefix(name, SystemPrincipals) {
		return Errorf(CodeSystemPrincipal, "the %s %.64q is one of Writ's own, which begin with %q, and may neither ask nor decide; give your own name", what, name, SystemPrincipals)
	}
	return nil
}

func checkRoles(roles []string) error {
	if len(roles) > MaxRoles {
		return Errorf(CodeInvalidRequest, "the principal has %d roles and %d are allowed; state those that this needs", len(roles), MaxRoles)
	}
	for i, role := range roles {
		if err := CheckName("role", role); err != nil {
			return err
		}
		if i > 0 && role <= roles[i-1] {
			return Errorf(CodeInvalidRequest, "the role %.64q stands behind %.64q; send roles in the order of their bytes, each once", role, roles[i-1])
		}
	}
	return nil
}

func checkDelegation(principal string, onBehalfOf []string) error {
	if len(onBehalfOf) > MaxDelegation {
		return Errorf(CodeInvalidRequest, "the principal acts on behalf of %d others and %d are allowed; name the nearest", len(onBehalfOf), MaxDelegation)
	}
	for i, name := range onBehalfOf {
		if err := checkPrincipal("principal on whose behalf it is asked", name); err != nil {
			return err
		}
		if name == principal || slices.Contains(onBehalfOf[:i], name) {
			return Errorf(CodeInvalidRequest, "%.64q acts on behalf of itself; name each principal once, the nearest first", name)
		}
	}
	return nil
}
