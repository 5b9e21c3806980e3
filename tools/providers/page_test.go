package providers_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"writ/tools"
	"writ/tools/providers"
)

var update = flag.Bool("update", false, "rewrite docs/providers.md from the profiles")

func TestThePageOfProvidersIsThatOfTheProfiles(t *testing.T) {
	t.Parallel()
	path := filepath.Join("..", "..", "docs", "providers.md")
	want := page()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s differs from the profiles; run make docs", path)
	}
}

func page() string {
	var b strings.Builder
	b.WriteString(introduction)
	b.WriteString("\n| API | Remembered | Longest key | Errors | Other parameters | At the same time |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, p := range providers.All() {
		fmt.Fprintf(&b, "| [%s](#%s) | %s | %s | %s | %s | %s |\n", p.API, anchor(p.API), span(p.Remembers), length(p.MaxLength),
			known(string(p.Errors)), known(string(p.Mismatch)), busy(p.Busy))
	}
	b.WriteString(reading)
	for _, p := range providers.All() {
		fmt.Fprintf(&b, "\n### %s\n\n- Provider: `%s`\n- Key: %s\n- Lookup: %s\n", p.API, p.Provider, p.Key, known(p.Lookup))
		if p.Note != "" {
			fmt.Fprintf(&b, "- Note: %s\n", p.Note)
		}
		for _, source := range p.Sources {
			fmt.Fprintf(&b, "- Source: <%s>\n", source)
		}
	}
	b.WriteString(keyless)
	for _, k := range providers.WithoutKeys() {
		fmt.Fprintf(&b, "| %s | `%s` | %s | <%s> |\n", k.API, k.Provider, k.Says, k.Source)
	}
	return b.String()
}

func known(value string) string {
	if value == "" {
		return "unknown"
	}
	return value
}

func busy(answer string) string {
	if answer == "" {
		return "unknown"
	}
	return "refused: " + answer
}

func length(limit int) string {
	if limit == 0 {
		return "unknown"
	}
	return fmt.Sprint(limit)
}

// span writes a window in days, hours or minutes.
func span(w tools.Window) string {
	minutes := int(w) / 60e9
	switch {
	case w == tools.WindowUnknown:
		return "unknown"
	case minutes%(24*60) == 0 && minutes > 24*60:
		return fmt.Sprintf("%d days", minutes/(24*60))
	case minutes%60 == 0:
		return fmt.Sprintf("%d h", minutes/60)
	}
	return fmt.Sprintf("%d min", minutes)
}

// anchor is the name that a heading has as the target of a link.
func anchor(heading string) string {
	var b strings.Builder
	for _, r := range strings.ToLower(heading) {
		switch {
		case r == ' ':
			b.WriteByte('-')
		case r == '-' || r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			b.WriteRune(r)
		}
	}
	return b.String()
}

const introduction = `<!-- Written by make docs from the profiles in tools/providers; edits are lost. -->

# Providers

What known providers promise about idempotency keys, as their own documentation states it. Read on ` + providers.Read + `, from copies of the pages
that may be older: before money depends on a value, read its source again. Where two pages or two copies of one differ, the shorter time
stands here. ` + "`unknown`" + ` means that the source does not say, or that no source was at hand; nothing is guessed.

A tool takes a profile into its spec:

` + "```go" + `
tools.Spec{
	Name: "payments.capture", SideEffectful: true, Idempotent: true,
	Provider: providers.Stripe.Provider,
	Key:      providers.Stripe.Contract(),
}
` + "```" + `
`

const reading = `
- **Remembered** is counted from the first request on. While an outcome is open, the tool is sent again only within it; after it, and if it
  is ` + "`unknown`" + `, the effect is looked up, or a person decides. A time that a provider calls typical, or may shorten, is not a promise.
- **Longest key**, in bytes. Writ's keys have 36; a provider that takes fewer cannot be used as idempotent, and registration says so.
- **Errors**: ` + "`replayed`" + ` are stored under the key, so that a retry needs a new one and an open outcome is looked up first; ` + "`forgotten`" + ` are tried
  anew. ` + "`unknown`" + ` counts as replayed.
- **Other parameters** under a known key are ` + "`refused`, answered with the first answer (`replayed`), or `performed`" + `. Writ never sends one key with two
  payloads; it matters to whoever shares an account with other programs.
- **At the same time**: what the second of two requests with one key is answered. ` + "`unknown`" + ` counts as unsafe: the next attempt waits until the lease
  of a lost one has ended.

No provider here promises how soon a lookup shows an effect, so a profile has no lookup contract: choose ` + "`Lookup.SettleDelay`" + ` yourself, longer
than the provider's slowest day. What a profile cannot know, such as a window that your contract changes, you set in the spec after
` + "`Contract()`" + `.
`

const keyless = `
## Without keys

A tool for one of these is opaque: after an unknown outcome it is not sent again. If the provider can be asked by something that the payload
names, it can be reconcilable.

| API | Provider | The documentation says | Source |
| --- | --- | --- | --- |
`
