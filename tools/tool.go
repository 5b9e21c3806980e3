package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"unicode/utf8"

	"writ/intent"
	"writ/internal/invocation"
)

// Invocation is what a tool receives for one attempt. Only the engine makes one.
type Invocation = invocation.Invocation

// Tool is a capability that the engine can invoke.
type Tool interface {
	// Spec says how the tool behaves. It is read once, at registration.
	Spec() Spec
	// Invoke performs the effect at most once, with exactly the invocation's idempotency
	// key. The context ends at the invocation's deadline; it is not cancelled when
	// somebody loses interest, because that would interrupt a send. See the package
	// comment for what the error says.
	Invoke(ctx context.Context, inv Invocation) (Result, error)
}

// Validator is implemented by tools that refuse payloads for what a schema cannot say.
// Validate is pure: no I/O. It is called before anything is written, with a payload that
// satisfies [Spec.InputSchema]; its error is shown to the caller, so it must not repeat secret values.
type Validator interface {
	Validate(payload []byte) error
}

// Result is what a tool returns on success.
type Result struct {
	// MediaType of Body, for example "application/json". Empty: application/json if the
	// body is JSON, else application/octet-stream.
	MediaType string
	// Body is the answer. Any bytes are kept, also what is not JSON.
	Body []byte
	// Broken says that Body is only the beginning of what the provider answered: the effect
	// happened, and the attempt has the code result_broken.
	Broken bool
	// EffectID is the provider's own name of the effect, at most 255 bytes of text. Optional;
	// two different ones show that an effect happened twice.
	EffectID string
}

// The media types of results that are JSON and of those that are no known text.
const (
	MediaTypeJSON   = "application/json"
	MediaTypeBinary = "application/octet-stream"
)

// JSON returns v, marshalled, as a result. A value that does not marshal is kept as
// text: a bad answer never hides that the effect happened.
func JSON(v any) (Result, error) {
	body, err := json.Marshal(v)
	if err != nil {
		return Text(fmt.Sprintf("%+v", v))
	}
	return Result{MediaType: MediaTypeJSON, Body: body}, nil
}

// Text returns s as a plain-text result.
func Text(s string) (Result, error) {
	mediaType := "text/plain; charset=utf-8"
	if !utf8.ValidString(s) {
		mediaType = MediaTypeBinary
	}
	return Result{MediaType: mediaType, Body: []byte(s)}, nil
}

// New returns a tool that runs invoke. The smallest way to write a tool; a type of one's
// own can also implement [Validator].
func New(spec Spec, invoke func(ctx context.Context, inv Invocation) (Result, error)) Tool {
	return funcTool{spec: spec, invoke: invoke}
}

type funcTool struct {
	spec   Spec
	invoke func(context.Context, Invocation) (Result, error)
}

func (t funcTool) Spec() Spec { return t.spec }

func (t funcTool) Invoke(ctx context.Context, inv Invocation) (Result, error) {
	return t.invoke(ctx, inv)
}

// Validate says whether t takes the payload: first its input schema is asked, then the
// tool, if it is a [Validator]. The error is an *intent.Error with code
// input_schema_violation or invalid_payload.
func Validate(t Registered, payload []byte) error {
	if err := t.Input.Validate(payload); err != nil {
		return intent.Errorf(intent.CodeInputSchema, "%s does not take this payload: %w", t.Spec.Name, err)
	}
	v, ok := t.Tool.(Validator)
	if !ok {
		return nil
	}
	if err := validate(v, payload); err != nil {
		return intent.Errorf(intent.CodeInvalidPayload, "%s does not take this payload: %w", t.Spec.Name, err)
	}
	return nil
}

// validate treats a panic as a refusal: a payload that the tool cannot even look at must
// not be tried for ever. The panic's value stays out of what the caller is shown.
func validate(v Validator, payload []byte) (err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("its validation panicked")
		}
	}()
	return v.Validate(payload)
}
