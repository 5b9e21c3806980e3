package tools_test

import (
	"encoding/json"
	"testing"
	"time"

	"writ/intent"
	"writ/tools"
)

func TestASideEffectfulToolLooksBackTenMinutesUnlessItSaysOtherwise(t *testing.T) {
	t.Parallel()
	day := tools.DuplicateGuard{Window: 24 * time.Hour, Action: intent.ConfirmDuplicates}
	for name, tc := range map[string]struct {
		spec      tools.Spec
		want      tools.DuplicateGuard
		on        bool
		published string
	}{
		"nothing said":  {tools.Spec{SideEffectful: true}, tools.DuplicateGuard{Window: 10 * time.Minute}, true, `null`},
		"an action":     {tools.Spec{SideEffectful: true, Duplicates: tools.DuplicateGuard{Action: intent.RefuseDuplicates}}, tools.DuplicateGuard{Window: 10 * time.Minute, Action: intent.RefuseDuplicates}, true, `{"window":"10m0s","action":"refuse"}`},
		"all said":      {tools.Spec{SideEffectful: true, Duplicates: day}, day, true, `{"window":"24h0m0s","action":"confirm"}`},
		"turned off":    {tools.Spec{SideEffectful: true, Duplicates: tools.DuplicateGuard{Window: tools.NoGuard}}, tools.DuplicateGuard{Window: tools.NoGuard}, false, `{"window":"none"}`},
		"a read has no": {tools.Spec{}, tools.DuplicateGuard{}, false, `null`},
	} {
		tc.spec.Name = "payments.capture"
		registry, err := tools.NewRegistry(tools.New(tc.spec, nothing))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		tool, _ := registry.Lookup(tc.spec.Name)
		if got := tool.Spec.Duplicates; got != tc.want || got.On() != tc.on {
			t.Errorf("%s: %+v, on %v", name, got, got.On())
		}
		if shown, err := json.Marshal(tc.spec.Publish().Behaviour.Duplicates); err != nil || string(shown) != tc.published {
			t.Errorf("%s: published as %s, %v", name, shown, err)
		}
	}
}

// A new member of a behaviour must be absent where it says nothing new, or every intent that
// was authorized and not yet sent would be refused as spec_diverged by the next release.
func TestAToolThatSaysNothingNewKeepsItsDigest(t *testing.T) {
	t.Parallel()
	for want, spec := range map[string]tools.Spec{
		"dca1ed8bc368df47ab251041651334e94977cbfd15e0276171a1df3b58610651": {Name: "echo"},
		"ad8897419f2faf106fd3fc9dfd1efb31cfb1aeb81aa3a50204a25f0881402f98": {Name: "payments.capture", SideEffectful: true, Idempotent: true, Provider: "sandbox"},
	} {
		if got := spec.Digest().String(); got != want {
			t.Errorf("%s: digest %s, want %s", spec.Name, got, want)
		}
	}
}
