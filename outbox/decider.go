package outbox

import (
	"slices"
	"strings"

	"writ/intent"
)

// Decider is who decides, in the grammar of names, and why. It was checked: see
// intent.CheckIdentity.
type Decider struct {
	Principal, Note string
	// Roles, OnBehalfOf and AuthenticationSource are those of intent.EffectContext.
	Roles                []string
	OnBehalfOf           []string
	AuthenticationSource string
	// Permit is asked about the locked row and what is decided, when nothing else stands against it
	// and before anything is written. Its error is the answer. nil permits.
	Permit func(Row, intent.DecisionKind) error
}

// decision is what the decider decides.
func (by Decider) decision(kind intent.DecisionKind) Decision {
	return Decision{
		Kind: kind, Principal: by.Principal, Note: by.Note,
		Roles: by.Roles, OnBehalfOf: by.OnBehalfOf, AuthenticationSource: by.AuthenticationSource, permit: by.Permit,
	}
}

// Identity is who decides, as policies are told.
func (by Decider) Identity() intent.EffectContext {
	return intent.EffectContext{
		Principal: by.Principal, Roles: by.Roles, OnBehalfOf: by.OnBehalfOf, AuthenticationSource: by.AuthenticationSource,
	}
}

// Identity is who decided, as policies are told.
func (d Decision) Identity() intent.EffectContext {
	return Decider{Principal: d.Principal, Roles: d.Roles, OnBehalfOf: d.OnBehalfOf, AuthenticationSource: d.AuthenticationSource}.Identity()
}

// mayDecide is the error of somebody who may not let the intent go on, with code
// self_confirmation: of those who asked for it, who are its principal and all for whom that one
// acts, none may, neither by themselves nor through somebody who acts for them.
func mayDecide(row Row, by Decider) error {
	asked, err := row.Context()
	if err != nil {
		return err
	}
	asking := append([]string{row.Principal}, asked.OnBehalfOf...)
	if slices.Contains(asking, by.Principal) {
		role := "asked for"
		if by.Principal != row.Principal {
			role = "is who " + row.Principal + " acted for when it asked for"
		}
		return intent.Errorf(intent.CodeSelfConfirmation, "%s %s intent %s and may not confirm it; somebody else has to", by.Principal, role, row.ID)
	}
	for _, name := range by.OnBehalfOf {
		if slices.Contains(asking, name) {
			return intent.Errorf(intent.CodeSelfConfirmation,
				"%s acts for %s, who is among those that asked for intent %s (%s), and may not confirm it; somebody else has to", by.Principal, name, row.ID, strings.Join(asking, ", for "))
		}
	}
	return nil
}
