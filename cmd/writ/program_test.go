package main

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

func TestACommandLineThatIsNotUnderstoodExits2AndSaysWhereHelpIs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		line string
		want string // in the message
	}{
		{"exceute", `there is no command "writ exceute"; did you mean execute`},
		{"intent gte 1", `there is no command "writ intent gte"; did you mean get`},
		{"tools polish", `there is no command "writ tools polish"`},
		{"execute", "takes one TOOL"},
		{"execute a b", "takes one TOOL"},
		{"execute echo --bogus", "unknown flag: --bogus"},
		{"execute echo --timeout soon", "invalid argument"},
		{"execute echo -o yaml", "--output must be text or json"},
		{"tools list --log-level loud", "--log-level must be debug, info, warn or error"},
		{"tools list --log-format xml", "--log-format must be text or json"},
		{"intent get", "takes one ID"},
		{"receipt get a b", "takes one ID"},
		{"tools list all", `takes no argument and was given "all"`},
		{"migrate up now", `takes no argument and was given "now"`},
		{"tools list --database-url=", "--database-url is empty"},
		{"tools list --temporal-address=", "--temporal-address is empty"},
		{"tools list --temporal-namespace=", "--temporal-namespace is empty"},
		{"intent list --tenant=", "--tenant is empty"},
		{"enqueued list --tenant=", "--tenant is empty"},
		{"doubt --tool=", "--tool is empty"},
		{"worker --task-queue=", "--task-queue is empty"},
		{"worker --provider-url=", "--provider-url is empty"},
		{"recover --after-restore --before=", "--before"},
		{"worker echo", `takes no argument and was given "echo"`},
	} {
		t.Run(c.line, func(t *testing.T) {
			t.Parallel()
			r := command(t, strings.Fields(c.line)...)
			if r.status != 2 || r.stdout != "" {
				t.Errorf("status %d, standard output %q", r.status, r.stdout)
			}
			if !strings.Contains(r.stderr, c.want) || !strings.Contains(r.stderr, "usage: ") || !strings.Contains(r.stderr, "--help") {
				t.Errorf("standard error does not say %q and where help is: %s", c.want, r.stderr)
			}
		})
	}
}

func TestACommandLineThatIsNotUnderstoodIsADocumentWhereJSONIsAskedFor(t *testing.T) {
	t.Parallel()
	for line, asked := range map[string]bool{
		"exceute -o json":                      true,
		"execute echo --bogus -o json":         true,
		"execute echo --bogus -ojson":          true,
		"execute echo --bogus -o=json":         true,
		"execute echo --bogus --output json":   true,
		"execute echo --bogus --output=json":   true,
		"-o json execute":                      true,
		"-o json execute echo --timeout soon":  true,
		"-o json tools list --log-level loud":  true,
		"-o text execute -o json":              true,
		"execute -o json -o text":              false,
		"execute -o yaml":                      false,
		"execute --bogus -- -o json":           false,
		"execute --payload":                    false,
		"execute a b --key json --output text": false,
		"execute echo -o":                      false,
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			r := command(t, strings.Fields(line)...)
			if r.status != 2 || !strings.Contains(r.stderr, "usage: ") {
				t.Errorf("status %d, %s", r.status, r.stderr)
			}
			if !asked {
				if r.stdout != "" {
					t.Errorf("nobody asked for a document: %s", r.stdout)
				}
				return
			}
			var f failure
			r.document(t, &f)
			if f.Error.Code != "usage" || f.Error.Effect != "not_applied" || f.Error.TryAgain || !strings.Contains(f.Error.Message, "--help") {
				t.Errorf("%s", r.stdout)
			}
		})
	}
}

func TestEveryCommandExplainsItself(t *testing.T) {
	t.Parallel()
	var walk func(cmd *cobra.Command)
	walk = func(cmd *cobra.Command) {
		if cmd.Short == "" || cmd.Long == "" || cmd.Example == "" {
			t.Errorf("%s lacks a short or long description or an example", cmd.CommandPath())
		}
		for _, line := range strings.Split(cmd.Long+"\n"+cmd.Example, "\n") {
			if len([]rune(line)) > 100 {
				t.Errorf("%s: a line of the help has over 100 characters: %s", cmd.CommandPath(), line)
			}
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newCommand(&program{}))
}

func TestACommandThatOnlyHoldsOthersShowsItsHelp(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"", "intent", "receipt", "tools", "migrate"} {
		r := command(t, strings.Fields(line)...)
		if r.status != 0 || !strings.Contains(r.stdout, "Available Commands:") {
			t.Errorf("writ %s: status %d, %q", line, r.status, r.stdout)
		}
	}
}

func TestVersionIsOneDocument(t *testing.T) {
	t.Parallel()
	var v version
	command(t, "version", "-o", "json").document(t, &v)
	if v.Version == "" || v.Go == "" {
		t.Errorf("%+v", v)
	}
}

func TestADatabaseThatNobodyNamedIsSaidToBeMissing(t *testing.T) {
	for _, name := range []string{"DATABASE_URL", "PGSERVICE"} {
		t.Setenv(name, "")
	}
	t.Setenv("PGHOST", "")
	t.Setenv("PGPORT", "1")
	for _, line := range []string{"tools list", "migrate up"} {
		r := command(t, strings.Fields(line)...)
		if r.status != 1 || !strings.Contains(r.stderr, "use --database-url or DATABASE_URL") {
			t.Errorf("writ %s: status %d, %s", line, r.status, r.stderr)
		}
	}
	t.Setenv("DATABASE_URL", nowhere)
	if r := command(t, "tools", "list"); r.status != 1 || strings.Contains(r.stderr, "no database was named") {
		t.Errorf("a named one: status %d, %s", r.status, r.stderr)
	}
}
