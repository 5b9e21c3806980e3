package tools

import (
	"slices"

	"writ/intent"
)

// maxNeeds bounds Spec.Consents and Spec.DataClasses.
const maxNeeds = 32

// checkManifest checks what the spec says of risk, consent and egress.
func (s Spec) checkManifest() error {
	switch {
	case !intent.IsRisk(s.Risk) || !intent.IsRisk(s.MaxRisk):
		return s.invalid("Risk and MaxRisk must be from 0 to 1")
	case s.MaxRisk != 0 && s.Risk > s.MaxRisk:
		return s.invalid("Risk is more than MaxRisk, so that the tool could never be run; lower it or raise MaxRisk")
	case len(s.DataClasses) > 0 && s.Provider == "":
		return s.invalid("DataClasses need a Provider that the data is sent to")
	}
	for _, list := range []struct {
		what, field string
		names       []string
	}{{"consent", "Consents", s.Consents}, {"data class", "DataClasses", s.DataClasses}} {
		if len(list.names) > maxNeeds {
			return s.invalid(list.field + " has more than 32 names")
		}
		for i, name := range list.names {
			if err := intent.CheckName(list.what, name); err != nil {
				return err
			}
			if slices.Contains(list.names[:i], name) {
				return s.invalid(list.field + " has " + name + " twice")
			}
		}
	}
	return nil
}

// sorted returns a sorted copy of the names; nil if there are none.
func sorted(names []string) []string {
	if len(names) == 0 {
		return nil
	}
	return slices.Sorted(slices.Values(names))
}
