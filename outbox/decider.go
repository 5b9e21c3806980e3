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

// The columns in which a table records a decider, as [Decider.values] are written to them, and as
// [Decider.fields] read them: a list that is empty is nil in Go and never NULL in SQL.
const (
	deciderColumns = `principal, note, roles, on_behalf_of, authentication_source`
	readDecider    = `principal, note, nullif(roles, '{}'), nullif(on_behalf_of, '{}'), authentication_source`
)

func (by Decider) values() []any {
	return []any{by.Principal, by.Note, append([]string{}, by.Roles...), append([]string{}, by.OnBehalfOf...), by.AuthenticationSource}
}

func (by *Decider) fields() []any {
	return []any{&by.Principal, &by.Note, &by.Roles, &by.OnBehalfOf, &by.AuthenticationSource}
}

// voice is everybody who speaks when the decider does: a person and who acts for it are one voice.
func (by Decider) voice() []string { return append([]string{by.Principal}, by.OnBehalfOf...) }

// Identity is who decides, as policies are told.
func (by Decider) Identity() intent.EffectContext {
	return intent.EffectContext{
		Principal: by.Principal, Roles: by.Roles, OnBehalfOf: by.OnBehalfOf, AuthenticationSource: by.AuthenticationSource,
	}
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
