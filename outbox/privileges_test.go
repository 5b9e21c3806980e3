package outbox_test

import (
	"crypto/rand"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
)

// bundleOf connects to an outbox that is there already.
func bundleOf(t *testing.T, address string) bundle {
	t.Helper()
	pool, commits := pgtest.Pool(t, address)
	return bundle{Store: outbox.New(pool), url: address, pool: pool, commits: commits}
}

// newRole creates a role without rights and returns its name and the URL of the same
// schema for it.
func (b bundle) newRole(t *testing.T, options string) (role, address string) {
	t.Helper()
	role, password := "r_"+strings.ToLower(rand.Text()), rand.Text()
	b.exec(t, `CREATE ROLE `+role+` LOGIN PASSWORD '`+password+`' `+options)
	u, err := url.Parse(b.url)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.UserPassword(role, password)
	return role, u.String()
}

func TestARoleWithExactlyThePrivilegesThatAreAskedForRunsTheOutbox(t *testing.T) {
	t.Parallel()
	b := start(t)
	role, address := b.newRole(t, "")
	defer b.exec(t, `DROP OWNED BY `+role+`; DROP ROLE `+role)
	schema := query[string](t, b, `SELECT current_schema()`)

	blind, err := inspector(t, address).Schema(t.Context())
	if err != nil || blind.Name != "" {
		t.Errorf("a role that may not use the schema sees %+v, %v", blind, err)
	}
	b.exec(t, `GRANT USAGE ON SCHEMA `+schema+` TO `+role)
	b.exec(t, `REVOKE EXECUTE ON FUNCTION writ_now FROM PUBLIC`)
	look := inspector(t, address)
	denied, err := look.Denied(t.Context())
	if err != nil || !slices.Contains(denied, "UPDATE on intents") || !slices.Contains(denied, "EXECUTE on writ_now()") {
		t.Fatalf("it lacks %q, %v", denied, err)
	}
	for _, privilege := range denied {
		kind, object, _ := strings.Cut(privilege, " on ")
		if kind == "EXECUTE" {
			object = "FUNCTION " + object
		}
		b.exec(t, `GRANT `+kind+` ON `+object+` TO `+role)
	}
	if denied, err = look.Denied(t.Context()); err != nil || len(denied) != 0 {
		t.Errorf("after they were granted it lacks %q, %v", denied, err)
	}

	limited := bundleOf(t, address)
	row := limited.insert(t, propose("order-4711", keyed()))
	granted := limited.granted(t, row)
	ev := of(granted, intent.Applied, "")
	limited.evidence(t, granted.Row, ev)
	if row = limited.journal(t, granted.Row, &ev); row.State != intent.Completed {
		t.Errorf("the intent is %s", row.State)
	}
}

// The list of privileges is written by hand, the statements are the truth.
func TestThePrivilegesThatAreAskedForAreThoseOfTheStatements(t *testing.T) {
	t.Parallel()
	b := start(t)
	role, address := b.newRole(t, "")
	defer b.exec(t, `DROP OWNED BY `+role+`; DROP ROLE `+role)
	b.exec(t, `GRANT USAGE ON SCHEMA `+query[string](t, b, `SELECT current_schema()`)+` TO `+role)
	asked, err := inspector(t, address).Denied(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	tables := query[[]string](t, b, `SELECT array_agg(tablename::text) FROM pg_tables
		WHERE schemaname = current_schema() AND tablename <> 'writ_migrations'`)
	for _, table := range tables {
		if !slices.Contains(asked, "SELECT on "+table) {
			t.Errorf("nothing is asked for on %s", table)
		}
	}
	needed := neededPrivileges(t, tables)
	for _, privilege := range needed {
		if !slices.Contains(asked, privilege) {
			t.Errorf("%s is needed and not asked for", privilege)
		}
	}
	for _, privilege := range asked {
		if !slices.Contains(needed, privilege) {
			t.Errorf("%s is asked for and not needed", privilege)
		}
	}
}

// neededPrivileges reads the statements of this package, of receipts and of the sample tools.
func neededPrivileges(t *testing.T, tables []string) (needed []string) {
	t.Helper()
	statements := regexp.MustCompile(`\b(INSERT INTO|UPDATE|DELETE FROM|FROM|JOIN) (\w+)(?s:([^;` + "`" + `]*))`)
	kinds := map[string]string{"INSERT INTO": "INSERT", "UPDATE": "UPDATE", "DELETE FROM": "DELETE", "FROM": "SELECT", "JOIN": "SELECT"}
	for _, pattern := range []string{"*.go", "../receipts/*.go", "../tools/sample/*.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for rest := string(text); ; {
				at := statements.FindStringSubmatchIndex(rest)
				if at == nil {
					break
				}
				kind, table, behind := rest[at[2]:at[3]], rest[at[4]:at[5]], rest[at[6]:at[7]]
				rest = rest[at[5]:]
				if !slices.Contains(tables, table) {
					continue
				}
				needed = append(needed, kinds[kind]+" on "+table)
				if kind == "DELETE FROM" && strings.Contains(behind, "WHERE") {
					needed = append(needed, "SELECT on "+table)
				}
				if kind == "INSERT INTO" && strings.Contains(behind, "DO UPDATE") || kind == "FROM" && strings.Contains(behind, "FOR UPDATE") {
					needed = append(needed, "UPDATE on "+table)
				}
			}
		}
	}
	if len(needed) < 20 {
		t.Fatalf("only %d statements were found; the search is broken", len(needed))
	}
	return needed
}
