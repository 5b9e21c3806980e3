package cedar_test

import (
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"writ/intent"
	"writ/policy"
	"writ/policy/cedar"
)

func TestASetThatIsReadFromItsTextsIsTheSameSet(t *testing.T) {
	t.Parallel()
	set, err := cedar.Load(folder(refunds))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]string{"rules.cedar": refunds}; !maps.Equal(set.Files(), want) {
		t.Errorf("its files are %q", set.Files())
	}
	again, err := cedar.FromFiles(set.Files())
	if err != nil || again.Digest() != set.Digest() || !slices.Equal(again.IDs(), set.IDs()) {
		t.Errorf("%v, %v", again, err)
	}
}

func TestAllThatIsWrongWithASetIsSaidAtOnce(t *testing.T) {
	t.Parallel()
	_, err := cedar.FromFiles(map[string]string{
		"a.cedar":     "\n@confrim(\"2\") @id(\"-\")\nforbid(principal, action, resource);",
		"b.cedar":     "permit(principal,\naction);",
		"c.cedar":     "@id(\"twice\") permit(principal, action, resource);\n@id(\"twice\") permit(principal, action, resource);",
		"d.cedar":     "permit(principal, action, resource) when { \"\xff\" == \"\" };",
		"e.cedar":     strings.Repeat(" ", cedar.MaxFile+1),
		"f.cedar":     "permit(principal, action, resource);",
		"g.cedar":     "\ufeffpermit(principal, action, resource);",
		"h.cedar":     "@reason(\"a\\0\")\npermit(principal, action, resource);",
		"i.cedar":     "@reason(\"a\\nwrit: b\")\npermit(principal, action, resource);",
		"j.cedar":     "@reason(\"" + strings.Repeat("a", cedar.MaxReason+1) + "\")\npermit(principal, action, resource);",
		"k\xff.cedar": "permit(principal, action, resource);",
		"l\x1b.cedar": "permit(principal, action, resource);",
	})
	var faults cedar.Faults
	if !errors.As(err, &faults) || intent.CodeOf(err) != intent.CodeInvalidPolicy {
		t.Fatalf("%v", err)
	}
	want := []string{
		"a.cedar:2: invalid_name: the policy id", "a.cedar:2: the annotation @confrim", "b.cedar:2: parse error", `c.cedar:2: the policy at c.cedar:1 has the id "twice" too`, "d.cedar: it is not UTF-8", "e.cedar: it has more than",
		"g.cedar:1: it begins with a byte order mark", "h.cedar:1: @reason is one line", "i.cedar:1: @reason is one line", "j.cedar:1: @reason is one line", "k\xff.cedar: its name has", "l\x1b.cedar: its name has",
	}
	if len(faults) != len(want) {
		t.Fatalf("%d faults: %v", len(faults), err)
	}
	for i, f := range faults {
		if !strings.HasPrefix(f.String(), want[i]) {
			t.Errorf("%s; want %s", f, want[i])
		}
	}
}

// A worker hosts some of the tools, and its own may behave otherwise than when the policies were put.
func TestAWorkerTakesPoliciesAboutToolsOfOthersAndMembersThatMayBeMissing(t *testing.T) {
	t.Parallel()
	const refunds = `permit(principal, action, resource == Tool::"payments.refund") when { `
	priceless := refund
	priceless.InputSchema = json.RawMessage(`{"type":"object","additionalProperties":false,"properties":{"payment_id":{"type":"string"}}}`)
	for text, fits := range map[string]bool{
		`permit(principal, action, resource == Tool::"somewhere.else") when { context.payload.x == 1 };`: true,
		`permit(principal, action, resource) when { resource == Tool::"somewhere.else" };`:               true,
		refunds + `context.payload has amount && context.payload.amount == decimal("1.0") };`:            true,
		refunds + `context.payload.amount == decimal("1.0") };`:                                          false,
		`permit(principal, action == Action::"tool.exec", resource == Tool::"payments.refund");`:         false,
	} {
		set, err := cedar.FromFiles(map[string]string{"a.cedar": text})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := set.ForSome([]policy.Hosted{priceless}); (err == nil) != fits {
			t.Errorf("%s: %v", text, err)
		}
		if _, err := set.ForTools([]policy.Hosted{priceless}); err == nil {
			t.Errorf("%s: it fits all tools", text)
		}
	}
}

func TestWhatIsStoredUnderTheDigestOfAnotherSetIsNoSet(t *testing.T) {
	t.Parallel()
	set, err := cedar.Load(folder(refunds))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := cedar.Stored(set.Digest().String(), set.Files()); err != nil {
		t.Error(err)
	}
	if got, err := cedar.Stored(strings.Repeat("0", 64), set.Files()); got != nil || intent.CodeOf(err) != intent.CodeInvalidPolicy {
		t.Errorf("%v, %v", got, err)
	}
}
