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
	// MaxMaxBackoff bounds the backoffs of RetryPolicy.
	MaxMaxBackoff = 30 * 24 * time.Hour
	// DefaultSettleDelay is how long after the end of the last lease a lookup that finds
	// nothing is trusted, unless the spec says otherwise.
	DefaultSettleDelay = 30 * time.Second
	// DefaultMaxLookups bounds the lookups after an attempt.
	DefaultMaxLookups = 10
	// MaxSettleDelay bounds LookupContract.SettleDelay.
	MaxSettleDelay = 30 * 24 * time.Hour
	// keyLength is the length of an idempotency key in bytes: a UUID in text.
	keyLength = 36
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
	// Reconcilable says that the provider can be asked what became of an effect: the tool is a
	// [Reconciler]. A side-effectful tool that is not idempotent is sent again only after a
	// lookup has shown that the effect did not happen; for an idempotent one, lookups end the
	// doubt that is left when the key cannot be sent again.
	Reconcilable bool
	// Transactional says that the effect is made in the outbox's own database, in the
	// transaction that ends the intent: the tool is a [Transactor], and Invoke is not called.
	// It excludes Idempotent and Reconcilable, because nothing is ever in doubt.
	Transactional bool
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
	// Lookup is what the provider promises about lookups. Only for tools that are reconcilable.
	Lookup LookupContract
	// Stake names what of a payload is at stake while its outcome is open. It changes nothing
	// but what operators are shown.
	Stake Stake

	// Risk is what running the tool risks in any case, from 0, nothing, to 1; a caller and a risk
	// scorer can only raise it. Default 0.
	Risk float64
	// MaxRisk is the highest risk that the tool may be run with, from 0 to 1; a request above it is
	// refused with risk_exceeded. Default 1: any.
	MaxRisk float64
	// Consents are the purposes that the person concerned must have consented to, in the grammar of
	// names; at most 32. A request without them is refused with consent_required.
	Consents []string
	// DataClasses are the classes of data that are sent to Provider, in the grammar of names; at
	// most 32. Where they may not go there, a request is refused with egress_denied.
	DataClasses []string

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
	// further one. Default 1 s; at most 30 days.
	InitialBackoff time.Duration
	// MaxBackoff bounds the wait. Default 1 min; at most 30 days. A provider's own Retry-After is honoured
	// even if it is longer.
	MaxBackoff time.Duration
}

// Class derives the effect class from the spec's declarations.
func (s Spec) Class() intent.Class {
	switch {
	case !s.SideEffectful:
		return intent.Read
	case s.Transactional:
		return intent.Transactional
	case s.Idempotent:
		return intent.Keyed
	case s.Reconcilable:
		return intent.Reconcilable
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
	if s.Reconcilable {
		setDefault(&s.Lookup.SettleDelay, DefaultSettleDelay)
		setDefault(&s.Lookup.Max, DefaultMaxLookups)
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
	case !s.SideEffectful && (s.Reconcilable || s.Transactional):
		return s.invalid("a tool without side effects has no effect to look up or to commit; drop Reconcilable and Transactional or set SideEffectful")
	case s.Transactional && (s.Idempotent || s.Reconcilable):
		return s.invalid("a transactional tool is never in doubt; drop Idempotent and Reconcilable")
	case s.Key != (KeyContract{}) && s.Class() != intent.Keyed:
		return s.invalid("a key contract needs SideEffectful and Idempotent")
	case s.Key.MaxLength != 0 && s.Key.MaxLength < keyLength:
		return s.invalid("Key.MaxLength is less than the 36 bytes of a key, so the provider cannot take it; drop Idempotent")
	case !s.Key.Mismatch.known():
		return s.invalid("Key.Mismatch must be one of the Mismatch constants")
	case s.Lookup != (LookupContract{}) && !s.Reconcilable:
		return s.invalid("a lookup contract needs Reconcilable")
	case s.Lookup.SettleDelay < 0 && s.Lookup.SettleDelay != Immediate || s.Lookup.SettleDelay > MaxSettleDelay:
		return s.invalid("Lookup.SettleDelay must be between 0 and 30 days, or Immediate")
	case s.Lookup.Max < 0 || s.Lookup.Max > MaxMaxAttempts:
		return s.invalid("Lookup.Max must be between 0 and 1,000")
	case s.Key.Remembers < 0 && s.Key.Remembers != WindowUnknown:
		return s.invalid("Key.Remembers must be positive, WindowForever or WindowUnknown")
	case s.Timeout < 0 || s.Timeout > MaxTimeout:
		return s.invalid("Timeout must be between 0 and 24 h")
	case s.Retry.MaxAttempts < 0 || s.Retry.MaxAttempts > MaxMaxAttempts:
		return s.invalid("Retry.MaxAttempts must be between 0 and 1,000")
	case s.Retry.InitialBackoff < 0 || s.Retry.MaxBackoff < 0 || s.Retry.InitialBackoff > MaxMaxBackoff || s.Retry.MaxBackoff > MaxMaxBackoff:
		return s.invalid("Retry backoffs must be between 0 and 30 days")
	case !s.SideEffectful && s.Duplicates != (DuplicateGuard{}):
		return s.invalid("a tool without side effects may be run twice; drop Duplicates or set SideEffectful")
	}
	if problem := s.Duplicates.problem(); problem != "" {
		return s.invalid(problem)
	}
	if problem := s.Stake.problem(); problem != "" {
		return s.invalid(problem)
	}
	return s.checkManifest()
}

// compile returns the compiled schemas; nil where there is none.
func (s Spec) compile() (input, output *Schema, err error) {
	if input, err = compileSchema(s.InputSchema); err != nil {
		return nil, nil, s.invalid("InputSchema " + err.Error())
	}
	if problem := s.Stake.hidden(input); problem != "" {
		return nil, nil, s.invalid(problem)
	}
	if output, err = compileSchema(s.OutputSchema); err != nil {
		return nil, nil, s.invalid("OutputSchema " + err.Error())
	}
	return input, output, nil
}

func (s Spec) invalid(why string) error {
	return intent.Errorf(intent.CodeInvalidSpec, "spec of tool %q: %s", s.Name, why)
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
		r.Window, r.ReplaysErrors, r.Serial = s.window(), s.Key.ReplaysErrors, s.Key.Serial
	}
	if s.Reconcilable {
		r.Lookup, r.SettleDelay, r.MaxLookups = true, max(s.Lookup.SettleDelay, 0), s.Lookup.Max
	}
	return r
}
