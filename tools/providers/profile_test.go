package providers_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"writ/intent"
	"writ/tools"
	"writ/tools/providers"
)

// spec returns the spec of a tool that relies on p.
func spec(p providers.Profile) tools.Spec {
	return tools.Spec{Name: "some.tool", SideEffectful: true, Idempotent: true, Provider: p.Provider, Key: p.Contract()}
}

func register(s tools.Spec) error {
	_, err := tools.NewRegistry(tools.New(s, func(context.Context, tools.Invocation) (tools.Result, error) {
		return tools.Result{}, nil
	}))
	return err
}

func TestAToolCanBeRegisteredUnderEveryProfile(t *testing.T) {
	t.Parallel()
	for _, p := range providers.All() {
		if err := register(spec(p)); err != nil {
			t.Errorf("%s: %v", p.API, err)
		}
	}
}

func TestAProviderWhoseKeysAreTooShortForOursIsRefused(t *testing.T) {
	t.Parallel()
	short := providers.Stripe
	short.MaxLength = 35
	if err := register(spec(short)); intent.CodeOf(err) != intent.CodeInvalidSpec {
		t.Errorf("registration says %v, want invalid_tool_spec", err)
	}
}

func TestAnUnknownWindowAllowsNoSecondSendAndIsNeverTheAssumedOne(t *testing.T) {
	t.Parallel()
	unknown := 0
	for _, p := range providers.All() {
		if p.Remembers == 0 {
			t.Errorf("%s leaves the window open; say tools.WindowUnknown", p.API)
		}
		if p.Remembers == tools.WindowUnknown {
			unknown++
		}
		if window := spec(p).Rules().Window; (window == 0) != (p.Remembers == tools.WindowUnknown) || window < 0 {
			t.Errorf("%s: the window of %s is %s", p.API, p.Remembers, window)
		}
	}
	if unknown == 0 {
		t.Error("no profile is unknown; the documentation of some says nothing")
	}
}

func TestWhatNobodyKnowsCountsAsUnsafe(t *testing.T) {
	t.Parallel()
	contract := providers.Profile{Remembers: tools.WindowUnknown}.Contract()
	want := tools.KeyContract{Remembers: tools.WindowUnknown, ReplaysErrors: true, Serial: true}
	if contract != want {
		t.Errorf("the contract of an unknown provider is %+v, want %+v", contract, want)
	}
	if known := providers.CheckoutCom.Contract(); known.ReplaysErrors || known.Serial {
		t.Errorf("Checkout.com forgets errors and refuses a second request, and the contract is %+v", known)
	}
	if !providers.Stripe.Contract().ReplaysErrors {
		t.Error("Stripe stores errors, and the contract does not say so")
	}
}

func TestEveryProfileNamesItsSourceAndWhereTheKeyStands(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range providers.All() {
		if seen[p.API] {
			t.Errorf("%s is listed twice", p.API)
		}
		seen[p.API] = true
		if p.Key == "" || len(p.Sources) == 0 {
			t.Errorf("%s says not where the key stands, or has no source", p.API)
		}
		for _, source := range p.Sources {
			if !strings.HasPrefix(source, "https://") {
				t.Errorf("%s: %s is no address of a page", p.API, source)
			}
		}
	}
	for _, k := range providers.WithoutKeys() {
		if k.API == "" || k.Says == "" || !strings.HasPrefix(k.Source, "https://") {
			t.Errorf("%+v lacks what it says or its source", k)
		}
	}
}

// A profile that is declared and not listed would have no place in the documentation.
func TestEveryProfileThatIsDeclaredIsListed(t *testing.T) {
	t.Parallel()
	declared := 0
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		declared += len(regexp.MustCompile(`(?m)^\t[A-Z]\w* = Profile\{$`).FindAll(source, -1))
	}
	if listed := len(providers.All()); declared != listed || declared < 20 {
		t.Errorf("%d profiles are declared and %d are listed", declared, listed)
	}
}
