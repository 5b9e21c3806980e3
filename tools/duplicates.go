package tools

import (
	"time"

	"writ/intent"
)

// The bounds of a DuplicateGuard.
const (
	// DefaultGuardWindow is how far the guard of a side-effectful tool looks back if the spec
	// does not say.
	DefaultGuardWindow = 10 * time.Minute
	// MaxGuardWindow bounds DuplicateGuard.Window.
	MaxGuardWindow = 7 * 24 * time.Hour
	// NoGuard as a Window turns the guard off.
	NoGuard time.Duration = -1
)

// DuplicateGuard says what becomes of a request without a request key that repeats an
// earlier one: the same tool, payload and principal in one tenant, within Window, where the
// earlier intent ran, may run, or waits. A caller's own key says which action is meant, so
// such a request is never a repeat of another; it can be what a later one repeats.
type DuplicateGuard struct {
	// Window is how far back is looked, from the commit of the earlier intent by the
	// database's clock. Default: 10 min; at most 7 days; NoGuard: not at all.
	Window time.Duration
	// Action is intent.FlagDuplicates (the default), RefuseDuplicates or ConfirmDuplicates.
	Action intent.DuplicateAction
}

// On reports whether there is anything to look for.
func (g DuplicateGuard) On() bool { return g.Window > 0 }

func (g DuplicateGuard) withDefaults() DuplicateGuard {
	setDefault(&g.Window, DefaultGuardWindow)
	return g
}

// problem says what is wrong with the guard of a side-effectful tool, or nothing.
func (g DuplicateGuard) problem() string {
	switch g.Action {
	case intent.FlagDuplicates, intent.RefuseDuplicates, intent.ConfirmDuplicates:
	default:
		return "Duplicates.Action must be FlagDuplicates, RefuseDuplicates or ConfirmDuplicates of package intent"
	}
	switch {
	case g.Window == NoGuard && g.Action != intent.FlagDuplicates:
		return "Duplicates.Action has no meaning with NoGuard; drop one of them"
	case g.Window != NoGuard && g.Window < 0 || g.Window > MaxGuardWindow:
		return "Duplicates.Window must be between 0 and 7 days, or NoGuard"
	}
	return ""
}

// PublishedGuard is the JSON form of a guard that is not the default one.
type PublishedGuard struct {
	// Window is "none" or a Go duration.
	Window string                 `json:"window"`
	Action intent.DuplicateAction `json:"action,omitempty"`
}

// publish returns nil for the default, so that tools which say nothing keep their digests.
func (g DuplicateGuard) publish() *PublishedGuard {
	switch g {
	case DuplicateGuard{}, DuplicateGuard{Window: DefaultGuardWindow}:
		return nil
	case DuplicateGuard{Window: NoGuard}:
		return &PublishedGuard{Window: "none"}
	}
	return &PublishedGuard{Window: g.Window.String(), Action: g.Action}
}
