package tools

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
)

// The sizes in bytes of what a violation repeats.
const (
	maxShownName    = 64
	maxShownPath    = 300
	maxShownValue   = 64
	maxShownPattern = 200
	maxShownHint    = 200
	// maxShownList is how many names or values are listed.
	maxShownList = 8
)

// wanted says what should be there. It says nothing of the value that is: only names of
// members, unless they are secret, and what stands in the schema.
func (r renderer) wanted(f failed) string {
	if f.secret {
		return "must satisfy its schema"
	}
	switch k := f.ErrorKind.(type) {
	case *kind.FalseSchema:
		return "must be left out"
	case *kind.Type:
		return "must be " + strings.Join(withArticles(k.Want), " or ") + r.hint(f)
	case *kind.Const:
		return "must be " + shownValue(k.Want)
	case *kind.Enum:
		return "must be one of " + shownList(k.Want, shownValue)
	case *kind.Not:
		return "must not be what its schema excludes" + r.hint(f)
	case *kind.AnyOf:
		return r.alternatives("at least one", f)
	case *kind.OneOf:
		if len(k.Subschemas) == 2 {
			return "must satisfy exactly one alternative, and satisfies more" // which ones would tell of the value
		}
		return r.alternatives("exactly one", f)
	case *kind.Format:
		return r.wantedByHook(f, k)
	case *kind.PropertyNames:
		// Only of a schema that is compared with its metaschema: a checker looks at names itself.
		return "has the name " + quoteCut(k.Property) + ", which " + r.wanted(slices.MinFunc(r.list(f.Causes[0]), compareFailures))
	}
	for _, wanted := range []func(jsonschema.ErrorKind) string{wantedOfObject, wantedOfArray, wantedOfNumber} {
		if text := wanted(f.ErrorKind); text != "" {
			return text
		}
	}
	return r.wantedOfText(f)
}

func (r renderer) wantedOfText(f failed) string {
	switch k := f.ErrorKind.(type) {
	case *kind.MinLength:
		return "must have at least " + counted(k.Want, "character")
	case *kind.MaxLength:
		return "must have at most " + counted(k.Want, "character")
	case *kind.Pattern:
		return "must match " + cut(k.Want, maxShownPattern) + r.hint(f)
	case *kind.AdditionalProperties:
		if f.secretNames {
			return "has a member that is not allowed"
		}
		names := slices.Sorted(slices.Values(k.Properties))
		return "must not have " + memberNames(names) + r.allowedNames(f)
	}
	return "must satisfy its schema"
}

func wantedOfObject(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Required:
		return "must have " + memberNames(k.Missing)
	case *kind.DependentRequired:
		return "must have " + memberNames(k.Missing) + ", because it has " + quoteCut(k.Prop)
	case *kind.MinProperties:
		return "must have at least " + counted(k.Want, "member")
	case *kind.MaxProperties:
		return "must have at most " + counted(k.Want, "member")
	}
	return ""
}

func wantedOfArray(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.MinItems:
		return "must have at least " + counted(k.Want, "item")
	case *kind.MaxItems:
		return "must have at most " + counted(k.Want, "item")
	case *kind.Contains:
		return `must have an item as "contains" says`
	case *kind.MinContains:
		return fmt.Sprintf(`must have at least %s as "contains" says`, counted(k.Want, "item"))
	case *kind.MaxContains:
		return fmt.Sprintf(`must have at most %s as "contains" says`, counted(k.Want, "item"))
	}
	return ""
}

func wantedOfNumber(k jsonschema.ErrorKind) string {
	switch k := k.(type) {
	case *kind.Minimum:
		return "must be at least " + decimal(k.Want)
	case *kind.Maximum:
		return "must be at most " + decimal(k.Want)
	case *kind.ExclusiveMinimum:
		return "must be more than " + decimal(k.Want)
	case *kind.ExclusiveMaximum:
		return "must be less than " + decimal(k.Want)
	case *kind.MultipleOf:
		return "must be a multiple of " + decimal(k.Want)
	}
	return ""
}

// wantedByHook is of the keywords that the checker's own hook looks after, and of regular
// expressions in a schema that is compared with its metaschema.
func (r renderer) wantedByHook(f failed, k *kind.Format) string {
	err := k.Err
	var twins duplicateItems
	var name refusedName
	switch {
	case errors.As(err, &twins):
		return "must not have equal items" + r.shownTwins(f, twins)
	case errors.As(err, &name) && f.secretNames:
		return "has a member whose name is not allowed"
	case errors.As(err, &name):
		return "must not have a member with the name " + quoteCut(string(name))
	case r.graph == nil:
		return "must be a " + k.Want + " that can be used: " + cut(err.Error(), maxShownHint)
	}
	return "must satisfy its schema"
}

// shownTwins says nothing where the items are secret: it would tell that two secrets are
// the same.
func (r renderer) shownTwins(f failed, twins duplicateItems) string {
	item := append(slices.Clone(f.location), strconv.Itoa(twins.first))
	if _, at := r.places.shown(item); at.secret {
		return ""
	}
	return fmt.Sprintf(", as %d and %d are", twins.first, twins.second)
}

// alternatives lists what each alternative wants first.
func (r renderer) alternatives(howMany string, f failed) string {
	var each []string
	for i, cause := range f.Causes[:min(len(f.Causes), 3)] {
		first := slices.MinFunc(r.list(cause), compareFailures)
		text := r.wanted(first)
		if below := first.location[min(len(f.location), len(first.location)):]; len(below) > 0 {
			text = pointerText(below) + " " + text
		}
		each = append(each, fmt.Sprintf("%d: %s", i+1, cut(text, maxShownHint)))
	}
	return fmt.Sprintf("must satisfy %s of %s (%s)", howMany, counted(len(f.Causes), "alternative"), strings.Join(each, "; "))
}

// allowedNames is empty where names are allowed by a pattern or elsewhere in the schema.
func (r renderer) allowedNames(f failed) string {
	if r.graph == nil {
		return ""
	}
	s := r.graph.all[f.SchemaURL]
	if s == nil || len(s.Properties) == 0 || len(s.PatternProperties) > 0 {
		return ""
	}
	return "; it may have " + shownList(slices.Sorted(maps.Keys(s.Properties)), quoteCut)
}

// hint is the description that the schema gives of the value.
func (r renderer) hint(f failed) string {
	if r.graph == nil {
		return ""
	}
	if s := r.graph.all[f.SchemaURL]; s != nil && s.Description != "" {
		return " (" + cut(s.Description, maxShownHint) + ")"
	}
	return ""
}

func withArticles(types []string) []string {
	list := slices.Clone(types)
	for i, name := range list {
		switch name {
		case "null":
		case "array", "integer", "object":
			list[i] = "an " + name
		default:
			list[i] = "a " + name
		}
	}
	return list
}

func memberNames(names []string) string {
	if len(names) == 1 {
		return "the member " + quoteCut(names[0])
	}
	return "the members " + shownList(names, quoteCut)
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

// shownList joins the first few.
func shownList[T any](list []T, show func(T) string) string {
	var shown []string
	for _, one := range list[:min(len(list), maxShownList)] {
		shown = append(shown, show(one))
	}
	text := strings.Join(shown, ", ")
	if rest := len(list) - len(shown); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}

// shownValue is a value that stands in the schema.
func shownValue(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		return "a value of the schema"
	}
	return cut(string(text), maxShownValue)
}

// decimal writes a number of the schema out exactly.
func decimal(r *big.Rat) string {
	digits, _ := r.FloatPrec()
	return cut(r.FloatString(digits), maxShownValue)
}

// pointerText is a JSON pointer (RFC 6901) with long names cut, in quotes if it holds
// anything that does not print.
func pointerText(location []string) string {
	var pointer strings.Builder
	for _, token := range location {
		pointer.WriteString("/" + pointerToken(cut(token, maxShownName)))
	}
	text := cut(pointer.String(), maxShownPath)
	if quoted := strconv.Quote(text); quoted != `"`+text+`"` || strings.ContainsAny(text, " :") {
		return cut(quoted, maxShownPath)
	}
	return text
}

// pointerOf is the exact JSON pointer.
func pointerOf(location []string) string {
	var pointer strings.Builder
	for _, token := range location {
		pointer.WriteString("/" + pointerToken(token))
	}
	return pointer.String()
}

func pointerToken(name string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// quoteCut quotes a name that somebody else chose; it may be as long as a whole payload.
func quoteCut(name string) string { return strconv.Quote(cut(name, maxShownName)) }

// cut shortens text to at most limit bytes, an ellipsis included.
func cut(text string, limit int) string {
	const ellipsis = "…"
	if len(text) <= limit {
		return text
	}
	end := max(limit-len(ellipsis), 0)
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + ellipsis
}
