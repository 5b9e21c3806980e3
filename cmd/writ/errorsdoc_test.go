package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"writ/activities"
	"writ/intent"
	"writ/tools"
	"writ/tools/effecthttp"
)

var update = flag.Bool("update", false, "rewrite docs/errors.md from the code")

func TestTheTablesOfErrorsAreThoseOfTheCode(t *testing.T) {
	t.Parallel()
	page := filepath.Join("..", "..", "docs", "errors.md")
	want := errorsPage()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s differs from the code; run make docs", page)
	}
}

type attemptTable struct {
	folder, title string
	rows          []tools.AttemptCode
}

// attemptTables are the tables of the codes of attempts, with the folders that declare them.
var attemptTables = []attemptTable{
	{"tools", "Of any tool", tools.AttemptCodes()},
	{"activities", "Of the engine", activities.AttemptCodes()},
	{"outbox", "Of effects in Writ's own database", activities.TransactionCodes()},
	{"tools/effecthttp", "Of the HTTP client for tools", effecthttp.AttemptCodes()},
}

func TestEveryCodeOfAnAttemptHasOneRow(t *testing.T) {
	t.Parallel()
	rows := map[string]string{} // code to folder
	for _, table := range attemptTables {
		for _, row := range table.rows {
			if rows[row.Code] != "" {
				t.Errorf("%s has two rows", row.Code)
			}
			rows[row.Code] = table.folder
		}
	}
	declared := map[string]bool{}
	for _, c := range constants(t) {
		raises := slices.ContainsFunc(attemptTables, func(table attemptTable) bool { return table.folder == c.folder })
		if !raises || c.kind != "" || !regexp.MustCompile(`^[Cc]ode[A-Z]`).MatchString(c.name) {
			continue
		}
		declared[c.value] = true
		if rows[c.value] != c.folder {
			t.Errorf("%s (%s) has no row in the table of %s", c.value, c.name, c.folder)
		}
	}
	for code := range rows {
		if !declared[code] && !strings.HasPrefix(code, "http_") {
			t.Errorf("%s has a row and is no constant", code)
		}
	}
}

func TestEveryReasonOfAStepHasOneRow(t *testing.T) {
	t.Parallel()
	rows := map[string]bool{}
	for _, row := range intent.Reasons() {
		if rows[row.Reason] {
			t.Errorf("%s has two rows in intent/reasons.go", row.Reason)
		}
		rows[row.Reason] = true
	}
	declared := map[string]bool{}
	for _, c := range constants(t) {
		if c.folder != "intent" || !strings.HasPrefix(c.name, "Reason") {
			continue
		}
		declared[c.value] = true
		if !rows[c.value] {
			t.Errorf("%s has no row in intent/reasons.go", c.value)
		}
	}
	for reason := range rows {
		if !declared[reason] {
			t.Errorf("%s has a row and is no constant", reason)
		}
	}
}

func TestEveryRowSaysWhatHappenedAndWhatToDo(t *testing.T) {
	t.Parallel()
	sentence := regexp.MustCompile("^[A-Z`][^|\n]{10,200}\\.$")
	for _, group := range intent.Codes() {
		for _, row := range group.Rows {
			if !sentence.MatchString(row.Meaning) || !sentence.MatchString(row.Mend) {
				t.Errorf("%s: %q, %q", row.Code, row.Meaning, row.Mend)
			}
		}
	}
	for _, row := range intent.Reasons() {
		if !sentence.MatchString(row.Meaning) {
			t.Errorf("%s: %q", row.Reason, row.Meaning)
		}
	}
	for _, table := range attemptTables {
		for _, row := range table.rows {
			if !sentence.MatchString(row.Meaning) {
				t.Errorf("%s: %q", row.Code, row.Meaning)
			}
		}
	}
}

// The effect that the package comment gives a situation is the one of its code.
func TestThePackageCommentGivesEveryCodeItsEffect(t *testing.T) {
	t.Parallel()
	comment, err := os.ReadFile(filepath.Join("..", "..", "doc.go"))
	if err != nil {
		t.Fatal(err)
	}
	effects := map[string]intent.Outcome{}
	for _, group := range intent.Codes() {
		for _, row := range group.Rows {
			effects[string(row.Code)] = row.Effect
		}
	}
	seen, effect := 0, ""
	for _, line := range regexp.MustCompile(`(?m)^//\t.*$`).FindAllString(string(comment), -1) {
		if end := regexp.MustCompile(` (applied|not_applied|unknown)$`).FindStringSubmatch(line); end != nil {
			effect = end[1] // a line without one goes on with the situation before
		}
		for _, word := range regexp.MustCompile(`\b[a-z]+(_[a-z]+)*\b`).FindAllString(line, -1) {
			want, isCode := effects[word]
			if !isCode || word == "failed" && !strings.Contains(line, "provably") {
				continue
			}
			seen++
			if string(want) != effect {
				t.Errorf("doc.go gives %s the effect %s; it is %s", word, effect, want)
			}
		}
	}
	if seen < 12 {
		t.Errorf("only %d codes were found in doc.go; the search is broken", seen)
	}
}

func errorsPage() string {
	var b strings.Builder
	b.WriteString(errorsIntroduction)
	for _, group := range intent.Codes() {
		fmt.Fprintf(&b, "\n### %s\n\n| Code | What happened | What to do | Effect | Try again | Exit status |\n| --- | --- | --- | --- | --- | --- |\n", group.Title)
		for _, row := range group.Rows {
			fmt.Fprintf(&b, "| `%s` | %s | %s | `%s` | %s | %d |\n", row.Code, row.Meaning, row.Mend, row.Effect, yesNo(row.TryAgain), statuses[row.Code])
		}
	}
	b.WriteString(attemptsIntroduction)
	for _, table := range attemptTables {
		fmt.Fprintf(&b, "\n### %s\n\n| Code | What happened | Effect of this attempt | Another attempt |\n| --- | --- | --- | --- |\n", table.title)
		for _, row := range table.rows {
			fmt.Fprintf(&b, "| `%s` | %s | `%s` | %s |\n", row.Code, row.Meaning, row.Outcome, anotherAttempt(row))
		}
	}
	b.WriteString(reasonsIntroduction)
	for _, row := range intent.Reasons() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", row.Reason, row.Meaning)
	}
	return b.String()
}

func yesNo(yes bool) string {
	if yes {
		return "yes"
	}
	return "no"
}

// anotherAttempt says what the engine does after an attempt that ended so.
func anotherAttempt(row tools.AttemptCode) string {
	switch {
	case row.Outcome == intent.Applied:
		return "never"
	case row.Outcome == intent.Unknown:
		return "only with the same key, or of a read"
	case row.Final:
		return "no"
	case row.InProgress:
		return "yes"
	}
	return "yes, if the tool is `Retryable`"
}

const errorsIntroduction = `<!-- Written by make docs from the tables in the code; edits are lost. -->

# Errors

Every refusal and every failure has a code. Codes are stable: programs match on them, and a code never changes its
meaning. The message beside it says what to do in this one case, and may change.

## Codes of requests and commands

These are the ` + "`code`" + ` of an ` + "`*writ.Error`" + ` and of the document that a failed command prints with ` + "`-o json`" + `.

**Effect** is what is known of the outside world when the error is raised. Read it before anything else:

- ` + "`not_applied`" + `: this request did nothing outside, and nothing of it is under way, unless the table says that it waits. Where the
  request key names another action or another authority, this says nothing of what the first one did.
- ` + "`unknown`" + `: it may have happened, may be happening now, or may happen soon. Do not ask for the same action under a new key: it
  could be done twice. The same request key is always safe: it joins the intent, or starts it if there is none.
- ` + "`applied`" + `: it happened. No error says so: an intent whose effect happened is completed.

**Try again** says whether the same request, unchanged and with the same request key, can succeed later: because an outage ends,
because what was refused is decided on anew and may be allowed by then, or
because the intent goes on. After a ` + "`no`" + `, do first what the table says.

**Exit status** is the one of ` + "`writ`" + `; [the command line](cli.md) lists what each status means.
`

const attemptsIntroduction = `
## Codes of attempts

These stand in ` + "`attempts[].code`" + ` of an intent and of its receipt. They speak of one attempt: an intent settles on all its attempts,
not on the last one. All other codes there are the words of a tool or of its provider, such as ` + "`card_declined`" + `. A refusal that
names a code of its own has that one in place of ` + "`http_408`, `http_425`, `http_429` or `http_4xx`" + `, with the same effect.

A lookup that was not answered has one of these codes too. It says why, and nothing of the effect.

After any error of a [transactional tool](tools.md#tools-in-writs-own-database) nothing of its effect is kept, whatever the code says
below: its attempt is ` + "`not_applied`" + `, and there is another one if the tool is ` + "`Retryable`" + ` and the error is not final.
`

const reasonsIntroduction = `
## Reasons of steps

These stand in ` + "`next.reason`" + ` of an intent, in histories and in receipts. A step that refuses or rejects a request has one of the
codes of requests for its reason.

| Reason | Meaning |
| --- | --- |
`
