package tools

import (
	"encoding/json"
	"time"

	"writ/intent"
)

// The defaults of a Spec.
const (
	DefaultTimeout        = 30 * time.Second
	DefaultMaxAttempts    = 10
	DefaultInitialBackoff = time.Second
	DefaultMaxBackoff     = time.Minute
	// AssumedWindow is how long a provider is taken to remember a key when the spec says
	// that the tool is idempotent and does not say for how long.
	AssumedWindow = 2 * time.Minute
	// MaxTimeout bounds Spec.Timeout.
	MaxTimeout = 24 * time.Hour
	// MaxMaxAttempts bounds RetryPolicy.MaxAttempts.
	MaxMaxAttempts = 1000
)

// Window says how long a provider remembers an idempotency key, counted from the first
// request that carried it. Zero means that nothing was said: AssumedWindow is used.
type Window time.Duration

const (
	// WindowUnknown says that nobody knows: an open outcome is never sent again.
	WindowUnknown Window = -1
	// WindowForever says that the provider never forgets a key.
	WindowForever Window = Window(intent.Forever)
)

// Spec says what a tool is and how it behaves. The zero value of every field but Name
// is usable. A spec is frozen when its tool is registered.
type Spec struct {
	// Name is the tool's name in the grammar of names, for example "payments.capture".
	// Required.
	Name string
	// Description is one or two sentences for people and models.
	Description string
	// Category groups tools in listings.
	Category string

	// InputSchema is what a payload must be, as JSON Schema of draft 2020-12; empty: any
	// object. A payload that does not satisfy it is refused with input_schema_violation
	// before anything is written.
	//
	// Registration refuses a schema of another draft, one that refers to anything outside of
	// itself or to itself without end, one over 256 KiB (MaxSchema) or 5,000 subschemas, and
	// a regular expression over 1,000 bytes or 5,000 instructions, or with look-around or
	// back-references (Go's regexp, whose time is linear). "format" and the "content" keywords
	// are annotations and are not checked. What is marked writeOnly stays out of messages.
	//
	// The schema is part of the tool's behaviour: another one is another digest.
	InputSchema json.RawMessage
	// OutputSchema is what the tool's result must be, in the same way; empty: anything. A
	// result that does not satisfy it, or is not JSON, is kept, and the intent completes,
	// because the effect happened; its attempt has the code invalid_output.
	OutputSchema json.RawMessage

	// SideEffectful says that running the tool changes the outside world. A tool that
	// leaves it false is run again whenever its answer was lost.
	SideEffectful bool
	// Idempotent says that the provider performs at most one effect for each idempotency
	// key, within Key.Remembers. A side-effectful tool that leaves it false is opaque: it
	// is never sent again after an unknown outcome.
	Idempotent bool
	// Retryable says that a definite failure (the effect did not happen) may be tried
	// again within the retry policy. It never licenses or forbids the same-key resend of
	// an open outcome.
	Retryable bool
	// Timeout is how long one attempt may take. Default 30 s; at most 24 h.
	Timeout time.Duration
	// Retry bounds the attempts and spaces them.
	Retry RetryPolicy

	// Provider names who performs the effect, in the grammar of names. Optional.
	Provider string
	// Key is what the provider promises about idempotency keys. Only for tools that are
	// side-effectful and idempotent.
	Key KeyContract

	// Duplicates says what becomes of a request without a key of its own that repeats an
	// earlier one. Only for tools that are side-effectful. Default: it is flagged within ten
	// minutes.
	Duplicates DuplicateGuard
}

// RetryPolicy bounds and spaces attempts.
type RetryPolicy struct {
	// MaxAttempts bounds the attempts over the intent's whole life, through every crash
	// and recovery: a tool that kills its worker each time is not tried for ever.
	// Default 10; at most 1,000.
	MaxAttempts int
	// InitialBackoff is the wait after the first failed attempt; it doubles with each
	// further one. Default 1 s.
	InitialBackoff time.Duration
	// MaxBackoff bounds the wait. Default 1 min. A provider's own Retry-After is honoured
	// even if it is longer.
	MaxBackoff time.Duration
}

// KeyContract is what a provider promises about idempotency keys.
type KeyContract struct {
	// Remembers is how long the provider remembers a key. Zero: two minutes are assumed.
	Remembers Window
}

// Class derives the effect class from the spec's declarations.
func (s Spec) Class() intent.Class {
	switch {
	case !s.SideEffectful:
		return intent.Read
	case s.Idempotent:
		return intent.Keyed
	default:
		return intent.Opaque
	}
}

// withDefaults returns s with every default filled in.
func (s Spec) withDefaults() Spec {
	setDefault(&s.Timeout, DefaultTimeout)
	setDefault(&s.Retry.MaxAttempts, DefaultMaxAttempts)
	setDefault(&s.Retry.InitialBackoff, DefaultInitialBackoff)
	setDefault(&s.Retry.MaxBackoff, DefaultMaxBackoff)
	if s.Retry.MaxBackoff < s.Retry.InitialBackoff {
		s.Retry.MaxBackoff = s.Retry.InitialBackoff
	}
	if s.SideEffectful {
		s.Duplicates = s.Duplicates.withDefaults()
	}
	return s
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

func (s Spec) check() error {
	if err := intent.CheckName("tool", s.Name); err != nil {
		return err
	}
	if s.Provider != "" {
		if err := intent.CheckName("provider", s.Provider); err != nil {
			return err
		}
	}
	switch {
	case s.Idempotent && !s.SideEffectful:
		return s.invalid("a tool without side effects needs no idempotency key; drop Idempotent or set SideEffectful")
	case s.Key.Remembers != 0 && s.Class() != intent.Keyed:
		return s.invalid("a key contract needs SideEffectful and Idempotent")
	case s.Key.Remembers < 0 && s.Key.Remembers != WindowUnknown:
		return s.invalid("Key.Remembers must be positive, WindowForever or WindowUnknown")
	case s.Timeout < 0 || s.Timeout > MaxTimeout:
		return s.invalid("Timeout must be between 0 and 24 h")
	case s.Retry.MaxAttempts < 0 || s.Retry.MaxAttempts > MaxMaxAttempts:
		return s.invalid("Retry.MaxAttempts must be between 0 and 1,000")
	case s.Retry.InitialBackoff < 0 || s.Retry.MaxBackoff < 0:
		return s.invalid("Retry backoffs must not be negative")
	case !s.SideEffectful && s.Duplicates != (DuplicateGuard{}):
		return s.invalid("a tool without side effects may be run twice; drop Duplicates or set SideEffectful")
	}
	if problem := s.Duplicates.problem(); problem != "" {
		return s.invalid(problem)
	}
	return nil
}

// compile returns the compiled schemas; nil where there is none.
func (s Spec) compile() (input, output *Schema, err error) {
	if input, err = compileSchema(s.InputSchema); err != nil {
		return nil, nil, s.invalid("InputSchema " + err.Error())
	}
	if output, err = compileSchema(s.OutputSchema); err != nil {
		return nil, nil, s.invalid("OutputSchema " + err.Error())
	}
	return input, output, nil
}

func (s Spec) invalid(why string) error {
	return intent.Errorf(intent.CodeInvalidSpec, "spec of tool %q: %s", s.Name, why)
}

// window returns the provider's memory in effect.
func (s Spec) window() time.Duration {
	switch s.Key.Remembers {
	case 0:
		return AssumedWindow
	case WindowUnknown:
		return 0
	case WindowForever:
		return intent.Forever
	default:
		return time.Duration(s.Key.Remembers)
	}
}

// Rules returns what the protocol needs to know of the tool.
func (s Spec) Rules() intent.Rules {
	s = s.withDefaults()
	r := intent.Rules{
		Class:          s.Class(),
		Provider:       s.Provider,
		Retryable:      s.Retryable,
		Timeout:        s.Timeout,
		MaxAttempts:    s.Retry.MaxAttempts,
		InitialBackoff: s.Retry.InitialBackoff,
		MaxBackoff:     s.Retry.MaxBackoff,
	}
	if r.Class == intent.Keyed {
		r.Window = s.window()
	}
	return r
}

// Published is the JSON form of a spec, as it stands in the tool_specs table and is
// printed by `writ tools show`. Durations are milliseconds.
type Published struct {
	Name        string       `json:"name"`
	Description string       `json:"description,omitempty"`
	Category    string       `json:"category,omitempty"`
	Behaviour   Behaviour    `json:"behaviour"`
	Class       intent.Class `json:"class"`
}

// Behaviour is the part of a spec that a request is authorized under. Its digest is
// bound into the commitment; a new description is not a new behaviour.
type Behaviour struct {
	Name             string `json:"name"`
	SideEffectful    bool   `json:"side_effectful"`
	Idempotent       bool   `json:"idempotent"`
	Retryable        bool   `json:"retryable"`
	Provider         string `json:"provider,omitempty"`
	TimeoutMS        int64  `json:"timeout_ms"`
	MaxAttempts      int    `json:"max_attempts"`
	InitialBackoffMS int64  `json:"initial_backoff_ms"`
	MaxBackoffMS     int64  `json:"max_backoff_ms"`
	// KeyWindow is "forever", "unknown", "assumed 2m0s" or a Go duration; empty unless
	// the tool is keyed.
	KeyWindow string `json:"key_window,omitempty"`
	// InputSchema and OutputSchema are in canonical form; absent where there is none. See
	// CompileSchema.
	InputSchema  json.RawMessage `json:"input_schema,omitempty"`
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	// Duplicates is absent for a tool without side effects, and for the default.
	Duplicates *PublishedGuard `json:"duplicates,omitempty"`
}

// Publish returns the JSON form of s with defaults filled in. It panics if a schema is not
// JSON, which NewRegistry refuses.
func (s Spec) Publish() Published {
	s = s.withDefaults()
	b := Behaviour{
		Name: s.Name, SideEffectful: s.SideEffectful, Idempotent: s.Idempotent, Retryable: s.Retryable,
		Provider: s.Provider, TimeoutMS: s.Timeout.Milliseconds(), MaxAttempts: s.Retry.MaxAttempts,
		InitialBackoffMS: s.Retry.InitialBackoff.Milliseconds(), MaxBackoffMS: s.Retry.MaxBackoff.Milliseconds(),
		InputSchema: published(s.InputSchema), OutputSchema: published(s.OutputSchema),
		Duplicates: s.Duplicates.publish(),
	}
	if s.Class() == intent.Keyed {
		b.KeyWindow = s.Key.Remembers.String()
	}
	return Published{Name: s.Name, Description: s.Description, Category: s.Category, Behaviour: b, Class: s.Class()}
}

// published returns the one form in which a schema is published and digested.
func published(schema json.RawMessage) json.RawMessage {
	if len(schema) == 0 {
		return nil
	}
	canonical, err := canonicalSchema(schema)
	if err != nil {
		panic("tools: a schema that was not registered " + err.Error())
	}
	return canonical
}

// String returns "forever", "unknown", "assumed 2m0s" for the zero window, or a duration.
func (w Window) String() string {
	switch w {
	case 0:
		return "assumed " + AssumedWindow.String()
	case WindowUnknown:
		return "unknown"
	case WindowForever:
		return "forever"
	default:
		return time.Duration(w).String()
	}
}

// Digest returns the digest of the behavioural part of s. It panics where Publish does.
func (s Spec) Digest() intent.Digest {
	raw, err := json.Marshal(s.Publish().Behaviour)
	if err != nil {
		panic("tools: a behaviour of strings, numbers and booleans did not marshal: " + err.Error())
	}
	canonical, err := intent.Canonicalize(raw)
	if err != nil {
		panic("tools: a marshalled behaviour is not JSON: " + err.Error())
	}
	return intent.SpecDigest(canonical)
}
