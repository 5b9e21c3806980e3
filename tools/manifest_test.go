package tools_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"writ/intent"
	"writ/tools"
)

func TestAManifestThatCannotBeMeantIsRefused(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec tools.Spec
		code intent.Code
	}{
		"a risk below nothing":        {tools.Spec{Risk: -0.1}, intent.CodeInvalidSpec},
		"a risk that is no number":    {tools.Spec{Risk: math.NaN()}, intent.CodeInvalidSpec},
		"a limit above all":           {tools.Spec{MaxRisk: 1.1}, intent.CodeInvalidSpec},
		"a risk that is never run":    {tools.Spec{Risk: 0.6, MaxRisk: 0.5}, intent.CodeInvalidSpec},
		"data for nobody":             {tools.Spec{DataClasses: []string{"contact"}}, intent.CodeInvalidSpec},
		"a consent twice":             {tools.Spec{Consents: []string{"mail", "mail"}}, intent.CodeInvalidSpec},
		"more needs than anybody has": {tools.Spec{Consents: slices.Repeat([]string{"mail"}, 33)}, intent.CodeInvalidSpec},
		"a consent of no name":        {tools.Spec{Consents: []string{"e mail"}}, intent.CodeInvalidName},
		"a look-alike class":          {tools.Spec{Provider: "mailer", DataClasses: []string{"соntact"}}, intent.CodeInvalidName},
		"one that can be meant":       {tools.Spec{Provider: "mailer", Risk: 0.5, MaxRisk: 0.5, Consents: []string{"mail"}, DataClasses: []string{"contact"}}, ""},
	} {
		tc.spec.Name = "mail.send"
		if _, err := tools.NewRegistry(tools.New(tc.spec, nothing)); intent.CodeOf(err) != tc.code {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTheOrderOfNeedsIsNoBehaviourAndWhatIsRegisteredDoesNotChange(t *testing.T) {
	t.Parallel()
	given := []string{"b", "a"}
	one := tools.Spec{Name: "mail.send", Consents: given}
	two := tools.Spec{Name: "mail.send", Consents: []string{"a", "b"}}
	if one.Digest() != two.Digest() {
		t.Error("another order is taken for another behaviour")
	}
	registry, err := tools.NewRegistry(tools.New(one, nothing))
	if err != nil {
		t.Fatal(err)
	}
	given[0] = "c"
	if tool, _ := registry.Lookup("mail.send"); strings.Join(tool.Spec.Consents, " ") != "a b" {
		t.Errorf("registered are %q", tool.Spec.Consents)
	}
}
