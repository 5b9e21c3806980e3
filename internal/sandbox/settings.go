package sandbox

import (
	"encoding/json"
	"net/http"
	"sync"
	"time"
)

// Settings are what the provider can be told while it runs. They are not kept across restarts.
type Settings struct {
	// KeyWindow is how long a key is remembered, from the first answer under it on, as a Go duration such as "90s". After
	// it the key is free, and the same request is performed again. "0s" is for ever.
	KeyWindow string `json:"key_window"`
	// BusinessRules says that a payment is captured and a document deleted only once, whatever the key.
	BusinessRules bool `json:"business_rules"`
}

// settings are the ones in force.
type settings struct {
	mu     sync.Mutex
	window time.Duration
	rules  bool
}

func (s *settings) businessRules() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rules
}

// remembers tells whether what was first answered then is remembered now.
func (s *settings) remembers(since time.Time) bool { return !s.forgotBetween(since, time.Now()) }

// forgotBetween tells whether what was first answered at one time was forgotten by another.
func (s *settings) forgotBetween(since, later time.Time) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.window > 0 && later.Sub(since) > s.window
}

func (s *settings) get() Settings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Settings{KeyWindow: s.window.String(), BusinessRules: s.rules}
}

// changed are the settings to change; absent ones stay as they are.
type changed struct {
	KeyWindow     *string `json:"key_window"`
	BusinessRules *bool   `json:"business_rules"`
}

func (s *settings) change(c changed) *problem {
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.KeyWindow != nil {
		window, err := time.ParseDuration(*c.KeyWindow)
		if err != nil || window < 0 {
			return refuse(http.StatusBadRequest, CodeInvalidSettings, "key_window must be a duration such as 90s, or 0s for ever.")
		}
		s.window = window
	}
	if c.BusinessRules != nil {
		s.rules = *c.BusinessRules
	}
	return nil
}

// subjectOf is what an effect is about: the value of a member, as it is in the body.
func subjectOf(members map[string]json.RawMessage, name string) string { return string(members[name]) }
