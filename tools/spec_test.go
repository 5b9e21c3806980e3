package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"writ/intent"
	"writ/tools"
)

func TestTheEffectClassFollowsFromWhatIsDeclared(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec tools.Spec
		want intent.Class
	}{
		"nothing declared":              {tools.Spec{}, intent.Read},
		"side-effectful":                {tools.Spec{SideEffectful: true}, intent.Opaque},
		"side-effectful and retryable":  {tools.Spec{SideEffectful: true, Retryable: true}, intent.Opaque},
		"side-effectful and idempotent": {tools.Spec{SideEffectful: true, Idempotent: true}, intent.Keyed},
	} {
		if got := tc.spec.Class(); got != tc.want {
			t.Errorf("%s: %s, want %s", name, got, tc.want)
		}
	}
}

func TestTheZeroValueOfEveryFieldIsUsable(t *testing.T) {
	t.Parallel()
	registry, err := tools.NewRegistry(tools.New(tools.Spec{Name: "echo"}, nothing))
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := registry.Lookup("echo")
	want := intent.Rules{Class: intent.Read, Timeout: 30 * time.Second, MaxAttempts: 10, InitialBackoff: time.Second, MaxBackoff: time.Minute}
	if got := tool.Spec.Rules(); got != want {
		t.Errorf("rules %+v, want %+v", got, want)
	}
	if tool.Spec.Rules() != (tools.Spec{Name: "echo"}).Rules() || tool.Digest != (tools.Spec{Name: "echo"}).Digest() {
		t.Error("a registered spec has other rules or another digest than the one it was made from")
	}
}

func TestRulesKeepWhatIsSaid(t *testing.T) {
	t.Parallel()
	keyed := tools.Spec{
		Name: "payments.capture", SideEffectful: true, Idempotent: true, Retryable: true, Timeout: 5 * time.Second,
		Retry: tools.RetryPolicy{MaxAttempts: 3, InitialBackoff: 10 * time.Second, MaxBackoff: 5 * time.Second},
	}
	for name, tc := range map[string]struct {
		remembers tools.Window
		want      time.Duration
		shown     string
	}{
		"nothing said": {0, 2 * time.Minute, "assumed 2m0s"},
		"unknown":      {tools.WindowUnknown, 0, "unknown"},
		"for ever":     {tools.WindowForever, intent.Forever, "forever"},
		"a day":        {tools.Window(24 * time.Hour), 24 * time.Hour, "24h0m0s"},
	} {
		spec := keyed
		spec.Key.Remembers = tc.remembers
		want := intent.Rules{Class: intent.Keyed, Retryable: true, Timeout: 5 * time.Second, MaxAttempts: 3,
			// A bound below the first wait would make the second shorter than the first.
			InitialBackoff: 10 * time.Second, MaxBackoff: 10 * time.Second, Window: tc.want}
		if got := spec.Rules(); got != want {
			t.Errorf("%s: rules %+v, want %+v", name, got, want)
		}
		if shown := spec.Publish().Behaviour.KeyWindow; shown != tc.shown {
			t.Errorf("%s: shown as %q, want %q", name, shown, tc.shown)
		}
	}
}

func TestASpecThatContradictsItselfIsRefusedWithItsName(t *testing.T) {
	t.Parallel()
	good := tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true}
	for name, tc := range map[string]struct {
		change func(*tools.Spec)
		code   intent.Code
	}{
		"no name":                      {func(s *tools.Spec) { s.Name = "" }, intent.CodeInvalidName},
		"a name with a look-alike":     {func(s *tools.Spec) { s.Name = "pаyments.capture" }, intent.CodeInvalidName},
		"a provider with a space":      {func(s *tools.Spec) { s.Provider = "the bank" }, intent.CodeInvalidName},
		"a key without an effect":      {func(s *tools.Spec) { s.SideEffectful = false }, intent.CodeInvalidSpec},
		"a key contract without a key": {func(s *tools.Spec) { s.Idempotent, s.Key.Remembers = false, tools.WindowForever }, intent.CodeInvalidSpec},
		"a negative window":            {func(s *tools.Spec) { s.Key.Remembers = -2 }, intent.CodeInvalidSpec},
		"a negative timeout":           {func(s *tools.Spec) { s.Timeout = -1 }, intent.CodeInvalidSpec},
		"a timeout of more than a day": {func(s *tools.Spec) { s.Timeout = tools.MaxTimeout + 1 }, intent.CodeInvalidSpec},
		"negative attempts":            {func(s *tools.Spec) { s.Retry.MaxAttempts = -1 }, intent.CodeInvalidSpec},
		"too many attempts":            {func(s *tools.Spec) { s.Retry.MaxAttempts = tools.MaxMaxAttempts + 1 }, intent.CodeInvalidSpec},
		"a negative backoff":           {func(s *tools.Spec) { s.Retry.InitialBackoff = -1 }, intent.CodeInvalidSpec},
		"a negative bound":             {func(s *tools.Spec) { s.Retry.MaxBackoff = -1 }, intent.CodeInvalidSpec},
		"a guard of a read":            {func(s *tools.Spec) { *s = tools.Spec{Name: s.Name, Duplicates: tools.DuplicateGuard{Window: 1}} }, intent.CodeInvalidSpec},
		"a guard that looks ahead":     {func(s *tools.Spec) { s.Duplicates.Window = -2 }, intent.CodeInvalidSpec},
		"a guard over 7 days":          {func(s *tools.Spec) { s.Duplicates.Window = tools.MaxGuardWindow + 1 }, intent.CodeInvalidSpec},
		"an action without a guard": {func(s *tools.Spec) {
			s.Duplicates = tools.DuplicateGuard{Window: tools.NoGuard, Action: intent.RefuseDuplicates}
		}, intent.CodeInvalidSpec},
		"a stake without a slash":   {func(s *tools.Spec) { s.Stake.Amount = "amount" }, intent.CodeInvalidSpec},
		"a stake with a bad escape": {func(s *tools.Spec) { s.Stake.Amount = "/~2" }, intent.CodeInvalidSpec},
		"a currency at no pointer":  {func(s *tools.Spec) { s.Stake = tools.Stake{Amount: "/amount", Currency: "/a~"} }, intent.CodeInvalidSpec},
		"a secret at stake": {func(s *tools.Spec) {
			s.Stake.Amount, s.InputSchema = "/card/limit", json.RawMessage(`{"properties":{"card":{"properties":{"limit":{"type":"string","writeOnly":true}}}}}`)
		}, intent.CodeInvalidSpec},
		"a secret currency": {func(s *tools.Spec) {
			s.Stake, s.InputSchema = tools.Stake{Amount: "/amount", Currency: "/card/currency"}, json.RawMessage(`{"properties":{"amount":true,"card":{"writeOnly":true}}}`)
		}, intent.CodeInvalidSpec},
		"a currency without an amount": {func(s *tools.Spec) { s.Stake.Currency = "/currency" }, intent.CodeInvalidSpec},
		"an action that nobody knows":  {func(s *tools.Spec) { s.Duplicates.Action = "ignore" }, intent.CodeInvalidSpec},
	} {
		spec := good
		tc.change(&spec)
		_, err := tools.NewRegistry(tools.New(spec, nothing))
		if intent.CodeOf(err) != tc.code {
			t.Errorf("%s: %v, want code %s", name, err, tc.code)
		}
		if tc.code == intent.CodeInvalidSpec && !strings.Contains(err.Error(), `"payments.capture"`) {
			t.Errorf("%s: the error does not name the tool: %v", name, err)
		}
	}
}

func TestTheDigestIsOfTheBehaviourOnly(t *testing.T) {
	t.Parallel()
	spec := tools.Spec{Name: "payments.capture", SideEffectful: true, Idempotent: true, Provider: "sandbox"}
	for name, change := range map[string]func(*tools.Spec){
		"a description":         func(s *tools.Spec) { s.Description = "Captures an authorized payment." },
		"a category":            func(s *tools.Spec) { s.Category = "payments" },
		"a default spelled out": func(s *tools.Spec) { s.Timeout = tools.DefaultTimeout },
		"no limit of the risk":  func(s *tools.Spec) { s.MaxRisk = 1 },
		"the default guard":     func(s *tools.Spec) { s.Duplicates.Window = tools.DefaultGuardWindow },
	} {
		same := spec
		change(&same)
		if same.Digest() != spec.Digest() {
			t.Errorf("%s is taken for a new behaviour", name)
		}
	}
	seen := map[intent.Digest]string{spec.Digest(): "the spec"}
	for name, change := range map[string]func(*tools.Spec){
		"name":                func(s *tools.Spec) { s.Name = "payments.refund" },
		"idempotent":          func(s *tools.Spec) { s.Idempotent = false },
		"side-effectful":      func(s *tools.Spec) { s.SideEffectful, s.Idempotent = false, false },
		"retryable":           func(s *tools.Spec) { s.Retryable = true },
		"timeout":             func(s *tools.Spec) { s.Timeout = time.Second },
		"provider":            func(s *tools.Spec) { s.Provider = "bank" },
		"attempts":            func(s *tools.Spec) { s.Retry.MaxAttempts = 11 },
		"initial backoff":     func(s *tools.Spec) { s.Retry.InitialBackoff = 2 * time.Second },
		"max backoff":         func(s *tools.Spec) { s.Retry.MaxBackoff = 2 * time.Minute },
		"key window":          func(s *tools.Spec) { s.Key.Remembers = tools.Window(time.Hour) },
		"key window, unknown": func(s *tools.Spec) { s.Key.Remembers = tools.WindowUnknown },
		"stored errors":       func(s *tools.Spec) { s.Key.ReplaysErrors = true },
		"one at a time":       func(s *tools.Spec) { s.Key.Serial = true },
		"reconcilable":        func(s *tools.Spec) { s.Reconcilable = true },
		"settle delay":        func(s *tools.Spec) { s.Reconcilable, s.Lookup.SettleDelay = true, time.Hour },
		"no settle delay":     func(s *tools.Spec) { s.Reconcilable, s.Lookup.SettleDelay = true, tools.Immediate },
		"lookups":             func(s *tools.Spec) { s.Reconcilable, s.Lookup.Max = true, 3 },
		"transactional":       func(s *tools.Spec) { s.Transactional, s.Idempotent = true, false },
		// Two minutes that are promised are more than two minutes that are assumed.
		"guard window":                           func(s *tools.Spec) { s.Duplicates.Window = time.Hour },
		"guard action":                           func(s *tools.Spec) { s.Duplicates.Action = intent.RefuseDuplicates },
		"guard action, other":                    func(s *tools.Spec) { s.Duplicates.Action = intent.ConfirmDuplicates },
		"risk":                                   func(s *tools.Spec) { s.Risk = 0.1 },
		"max risk":                               func(s *tools.Spec) { s.MaxRisk = 0.1 },
		"consents":                               func(s *tools.Spec) { s.Consents = []string{"a"} },
		"data classes":                           func(s *tools.Spec) { s.DataClasses = []string{"a"} },
		"no guard":                               func(s *tools.Spec) { s.Duplicates.Window = tools.NoGuard },
		"key window, as long as the assumed one": func(s *tools.Spec) { s.Key.Remembers = tools.Window(tools.AssumedWindow) },
	} {
		other := spec
		change(&other)
		if twin, taken := seen[other.Digest()]; taken {
			t.Errorf("%s: the same digest as %s", name, twin)
		}
		seen[other.Digest()] = name
	}
}

func TestEveryFieldOfASpecIsBehaviourOrKnownNotToBe(t *testing.T) {
	t.Parallel()
	// A field that is added to Spec must be added to Behaviour, or here on purpose.
	described := map[string]bool{"Description": true, "Category": true, "Stake": true}
	named := map[string]string{"Retry": "MaxAttempts", "Key": "KeyWindow", "Timeout": "TimeoutMS", "Lookup": "SettleDelayMS"}
	behaviour := reflect.TypeFor[tools.Behaviour]()
	for _, field := range reflect.VisibleFields(reflect.TypeFor[tools.Spec]()) {
		name := field.Name
		if other, ok := named[name]; ok {
			name = other
		}
		if _, ok := behaviour.FieldByName(name); !ok && !described[name] {
			t.Errorf("Spec.%s is neither behaviour nor description", field.Name)
		}
	}
}

func TestARegistryHasEachNameOnce(t *testing.T) {
	t.Parallel()
	first, second := tools.New(tools.Spec{Name: "echo"}, nothing), tools.New(tools.Spec{Name: "echo", Retryable: true}, nothing)
	if _, err := tools.NewRegistry(first, second); intent.CodeOf(err) != intent.CodeInvalidSpec {
		t.Errorf("two tools of one name: %v", err)
	}
	registry, err := tools.NewRegistry(tools.New(tools.Spec{Name: "b"}, nothing), tools.New(tools.Spec{Name: "a"}, nothing))
	if err != nil {
		t.Fatal(err)
	}
	if all := registry.All(); len(all) != 2 || all[0].Spec.Name != "a" || all[1].Spec.Name != "b" {
		t.Errorf("listed %+v", all)
	}
	if _, found := registry.Lookup("A"); found {
		t.Error("a look-alike name was found")
	}
}

// drifting changes its spec at each call.
type drifting struct {
	tools.Tool
	calls *int
}

func (d drifting) Spec() tools.Spec {
	*d.calls++
	return tools.Spec{Name: "drifting", Timeout: time.Duration(*d.calls) * time.Second}
}

func TestASpecIsReadOnceAndFrozen(t *testing.T) {
	t.Parallel()
	calls := 0
	registry, err := tools.NewRegistry(drifting{calls: &calls})
	if err != nil {
		t.Fatal(err)
	}
	tool, _ := registry.Lookup("drifting")
	if calls != 1 || tool.Spec.Timeout != time.Second || tool.Digest != tool.Spec.Digest() {
		t.Errorf("read %d times, %+v", calls, tool.Spec)
	}
}

type validating struct {
	tools.Tool
	answer func() error
}

func (v validating) Spec() tools.Spec { return tools.Spec{Name: "validating"} }

func (v validating) Validate([]byte) error { return v.answer() }

func TestAToolMayRefuseAPayloadBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	registered := func(tool tools.Tool) tools.Registered { return tools.Registered{Tool: tool, Spec: tool.Spec()} }
	if err := tools.Validate(registered(tools.New(tools.Spec{Name: "echo"}, nothing)), []byte(`{}`)); err != nil {
		t.Errorf("a tool without validation: %v", err)
	}
	if err := tools.Validate(registered(validating{answer: func() error { return nil }}), []byte(`{}`)); err != nil {
		t.Errorf("an accepted payload: %v", err)
	}
	reason := errors.New("the amount is missing")
	for name, answer := range map[string]func() error{
		"an error": func() error { return reason },
		"a panic":  func() error { panic("secret") },
	} {
		err := tools.Validate(registered(validating{answer: answer}), []byte(`{}`))
		var e *intent.Error
		if !errors.As(err, &e) || e.Code != intent.CodeInvalidPayload || e.Effect != intent.NotApplied || e.TryAgain {
			t.Errorf("%s: %+v", name, err)
		}
		if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the caller is shown %v", name, err)
		}
	}
	if err := tools.Validate(registered(validating{answer: func() error { return reason }}), nil); !errors.Is(err, reason) {
		t.Errorf("the tool's error is lost: %v", err)
	}
}

// nothing is a tool's function that does nothing.
func nothing(context.Context, tools.Invocation) (tools.Result, error) { return tools.Result{}, nil }

func TestAToolThatWasNeverMadeIsRefused(t *testing.T) {
	t.Parallel()
	for name, tool := range map[string]tools.Tool{
		"no tool": nil, "no function": tools.New(tools.Spec{Name: "echo"}, nil), "a nil pointer": (*validating)(nil),
	} {
		if _, err := tools.NewRegistry(tool); intent.CodeOf(err) != intent.CodeInvalidSpec {
			t.Errorf("%s: %v", name, err)
		}
	}
}
