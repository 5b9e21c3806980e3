package intent_test

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"writ/intent"
)

// many returns n names in their order.
func many(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = fmt.Sprintf("name-%02d", i)
	}
	return names
}

func TestAContextIsRefusedForWhatItStatesOfWhoAsks(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*intent.EffectContext)
		want   intent.Code
	}{
		"what is stated in order":   {func(*intent.EffectContext) {}, ""},
		"nothing but a name":        {func(c *intent.EffectContext) { *c = intent.EffectContext{Principal: "ada", Tenant: "acme"} }, ""},
		"as much as is allowed":     {func(c *intent.EffectContext) { c.Roles, c.OnBehalfOf = many(32), many(8) }, ""},
		"nobody":                    {func(c *intent.EffectContext) { c.Principal = "" }, intent.CodeUnauthenticated},
		"a look-alike":              {func(c *intent.EffectContext) { c.Principal = "\u0430da" }, intent.CodeInvalidName},
		"no tenant":                 {func(c *intent.EffectContext) { c.Tenant = "" }, intent.CodeInvalidName},
		"a bad service":             {func(c *intent.EffectContext) { c.Service = "shop " }, intent.CodeInvalidName},
		"one of Writ's own":         {func(c *intent.EffectContext) { c.Principal = "writ:breaker" }, intent.CodeSystemPrincipal},
		"for one of Writ's own":     {func(c *intent.EffectContext) { c.OnBehalfOf = []string{"ada", "writ:recovery"} }, intent.CodeSystemPrincipal},
		"a user whose name is writ": {func(c *intent.EffectContext) { c.Principal = "writ" }, ""},
		"a cluster's account":       {func(c *intent.EffectContext) { c.Principal = "system:serviceaccount:shop:till" }, ""},
		"an empty role":             {func(c *intent.EffectContext) { c.Roles = []string{""} }, intent.CodeInvalidName},
		"a role that is no name":    {func(c *intent.EffectContext) { c.Roles = []string{"finance,clerk"} }, intent.CodeInvalidName},
		"roles out of order":        {func(c *intent.EffectContext) { c.Roles = []string{"finance", "clerk"} }, intent.CodeInvalidRequest},
		"a role twice":              {func(c *intent.EffectContext) { c.Roles = []string{"clerk", "clerk"} }, intent.CodeInvalidRequest},
		"too many roles":            {func(c *intent.EffectContext) { c.Roles = many(33) }, intent.CodeInvalidRequest},
		"for a bad name":            {func(c *intent.EffectContext) { c.OnBehalfOf = []string{"ada\n"} }, intent.CodeInvalidName},
		"for itself":                {func(c *intent.EffectContext) { c.OnBehalfOf = []string{"ada", "agent-7"} }, intent.CodeInvalidRequest},
		"for one of them twice":     {func(c *intent.EffectContext) { c.OnBehalfOf = []string{"ada", "eve", "ada"} }, intent.CodeInvalidRequest},
		"for too many":              {func(c *intent.EffectContext) { c.OnBehalfOf = many(9) }, intent.CodeInvalidRequest},
		"no source":                 {func(c *intent.EffectContext) { c.AuthenticationSource = "" }, ""},
		"a source that proves":      {func(c *intent.EffectContext) { c.AuthenticationSource = "oidc:corp" }, intent.CodeInvalidRequest},
		"a source that is no name":  {func(c *intent.EffectContext) { c.AuthenticationSource = "o i d c" }, intent.CodeInvalidName},
	} {
		asked := intent.EffectContext{
			Principal: "agent-7", Tenant: "acme", AuthenticationSource: intent.AuthenticatedDirect,
			Roles: []string{"clerk", "finance"}, OnBehalfOf: []string{"assistant", "ada"}, Service: "shop",
		}
		c.change(&asked)
		err := asked.Check()
		if intent.CodeOf(err) != c.want || (err == nil) != (c.want == "") {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
		var refused *intent.Error
		if errors.As(err, &refused) && (refused.Effect != intent.NotApplied || refused.TryAgain) {
			t.Errorf("%s: effect %s, again %t", name, refused.Effect, refused.TryAgain)
		}
	}
}

// The intent that is decided on may have had its effect long ago.
func TestADecisionUnderAReservedNameSaysNothingOfTheEffect(t *testing.T) {
	t.Parallel()
	var refused *intent.Error
	if err := intent.CheckIdentity("writ:temporal", nil, nil); !errors.As(err, &refused) || refused.Code != intent.CodeSystemPrincipal || refused.Effect != intent.Unknown {
		t.Errorf("%v", err)
	}
}

func TestOnlyASourceBesideTheCallerProves(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]bool{"": false, intent.AuthenticatedDirect: false, "ticket:prod": true} {
		if got := (intent.EffectContext{AuthenticationSource: source}).Proven(); got != want {
			t.Errorf("%q: %t", source, got)
		}
	}
}

func TestRolesAreASetWhateverTheirOrder(t *testing.T) {
	t.Parallel()
	given := strings.Fields("finance clerk finance admin")
	if got := intent.SortRoles(given); !reflect.DeepEqual(got, []string{"admin", "clerk", "finance"}) || given[0] != "finance" {
		t.Errorf("%q of %q", got, given)
	}
	if got := intent.SortRoles(nil); got != nil {
		t.Errorf("%q of none", got)
	}
}

func TestNamesAreReadFromAnArrayAndErrorsHaveTheirByte(t *testing.T) {
	t.Parallel()
	for src, c := range map[string]struct {
		names  []string
		code   intent.Code
		offset int64
	}{
		`{"roles":["b", "\u0061"]}`: {[]string{"b", "a"}, "", 0},
		`{"roles":[]}`:              {[]string{}, "", 0},
		`{"roles":null}`:            {nil, "", 0},
		`{}`:                        {nil, "", 0},
		`{"roles":"b"}`:             {nil, intent.CodeInvalidRequest, 9},
		`{"roles":["b",1]}`:         {nil, intent.CodeInvalidRequest, 14},
		`{"roles":["b",null]}`:      {nil, intent.CodeInvalidRequest, 14},
		`{"roles":["b",""]}`:        {nil, intent.CodeInvalidName, 15},
		`{"roles":["b","a c"]}`:     {nil, intent.CodeInvalidName, 16},
		`{"roles":["b",{"a":1}]}`:   {nil, intent.CodeInvalidRequest, 14},
	} {
		e, err := intent.ReadEnvelope(intent.Value{Raw: []byte(src)}, "request", []string{"roles"})
		if err != nil {
			t.Fatal(err)
		}
		names, err := e.Names("roles")
		var refused *intent.Error
		errors.As(err, &refused)
		if !reflect.DeepEqual(names, c.names) || intent.CodeOf(err) != c.code || refused != nil && refused.Offset != c.offset {
			t.Errorf("%s: %q, %v at %+v", src, names, err, refused)
		}
	}
}
