package providers

import "writ/tools"

// Read is the day on which the sources were read, as copies that may be older than that.
const Read = "2026-12-02"

// Profile is what the documentation of a provider says about idempotency keys. The zero value
// of every field but Remembers says that it does not say.
type Profile struct {
	// Provider is the provider's name for Spec.Provider. All profiles of one provider share
	// it, and so its holds and its circuit breaker.
	Provider string
	// API names what of the provider the profile is about.
	API string
	// Key says where the key stands in a request.
	Key string
	// Remembers is the shortest time for which the provider promises to remember a key, from
	// the first request on; tools.WindowUnknown if it promises none.
	Remembers tools.Window
	// MaxLength is the longest key that the provider takes, in bytes.
	MaxLength int
	// Errors says whether an error is remembered under its key.
	Errors Errors
	// Mismatch is what the provider does with a known key and other parameters.
	Mismatch tools.Mismatch
	// Busy is what the second of two requests with one key at the same time is answered
	// while the first is at work; it is not performed.
	Busy string
	// Lookup says how the provider can be asked what became of an effect.
	Lookup string
	// Note is what else a tool's author has to know.
	Note string
	// Sources are the pages of the provider that say all this.
	Sources []string
}

// Errors says what a provider does with an error that it has answered to a key.
type Errors string

// The zero Errors says that nobody knows.
const (
	ErrorsUnknown Errors = ""
	// ErrorsReplayed: the error is stored, and every later request with the key receives it.
	ErrorsReplayed Errors = "replayed"
	// ErrorsForgotten: the next request with the key is tried anew.
	ErrorsForgotten Errors = "forgotten"
)

// Contract returns the profile as the key contract of a spec. What is not known counts as
// unsafe: errors as replayed, and two requests at the same time as not allowed. Registration
// refuses a tool whose provider takes no key of 36 bytes; an unknown longest key is taken to
// be long enough, since a provider refuses a key that is too long before it acts.
func (p Profile) Contract() tools.KeyContract {
	return tools.KeyContract{
		Remembers:     p.Remembers,
		ReplaysErrors: p.Errors != ErrorsForgotten,
		Serial:        p.Busy == "",
		Mismatch:      p.Mismatch,
		MaxLength:     p.MaxLength,
	}
}

// Keyless is an API of a provider that takes no idempotency key. A tool for it is opaque, or
// reconcilable if the provider can be asked by something else that the payload names.
type Keyless struct {
	// Provider and API are as in Profile.
	Provider, API string
	// Says is what the documentation says.
	Says string
	// Source is the page that says it.
	Source string
}
