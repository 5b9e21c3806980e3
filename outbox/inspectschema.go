package outbox

import (
	"context"
	"io/fs"
	"path"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3"
)

// Schema is what the schema of the outbox lacks.
type Schema struct {
	// Name is the schema that Writ works in. Empty: the search path names none that exists
	// and that the role may use.
	Name, SearchPath string
	// Applied is how many of this release's migrations are applied.
	Applied int
	// Missing names the migrations that are not applied.
	Missing []string
	// Newer holds the numbers of migrations that this release does not know.
	Newer []int64
}

// Schema compares the migrations of this release with those that the database records.
func (i *Inspector) Schema(ctx context.Context) (Schema, error) {
	var s Schema
	var migrated bool
	const where = `SELECT coalesce(current_schema(), ''), current_setting('search_path'), to_regclass('` + migrationTable + `') IS NOT NULL`
	if err := i.conn.QueryRow(ctx, where).Scan(&s.Name, &s.SearchPath, &migrated); err != nil {
		return s, wrap("look for the schema", err)
	}
	applied := map[int64]bool{}
	if migrated {
		// goose removes the row of a migration that is taken back. Its first row, 0, is none.
		rows, err := i.conn.Query(ctx, `SELECT version_id FROM `+migrationTable+` WHERE is_applied AND version_id > 0 ORDER BY version_id`)
		if err != nil {
			return s, wrap("read the migrations", err)
		}
		versions, err := pgx.CollectRows(rows, pgx.RowTo[int64])
		if err != nil {
			return s, wrap("read the migrations", err)
		}
		for _, v := range versions {
			applied[v] = true
		}
	}
	return s.compare(applied)
}

func (s Schema) compare(applied map[int64]bool) (Schema, error) {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return s, wrap("embedded migrations", err)
	}
	known := map[int64]bool{}
	for _, file := range files {
		version, err := goose.NumericComponent(file)
		if err != nil {
			return s, wrap("embedded migrations", err)
		}
		known[version] = true
		if applied[version] {
			s.Applied++
		} else {
			s.Missing = append(s.Missing, path.Base(file))
		}
	}
	for version := range applied {
		if !known[version] {
			s.Newer = append(s.Newer, version)
		}
	}
	slices.Sort(s.Newer)
	return s, nil
}

// privileges are what the role of clients and workers needs, and no more; they are those of
// the statements of this package, of receipts and of the sample tools. FOR UPDATE needs UPDATE. What migrates
// needs to own the tables.
var privileges = map[string][]string{
	"intents":          {"SELECT", "INSERT", "UPDATE"},
	"attempts":         {"SELECT", "INSERT", "UPDATE"},
	"enqueued":         {"SELECT", "INSERT", "UPDATE", "DELETE"},
	"receipts":         {"SELECT", "INSERT"},
	"tool_specs":       {"SELECT", "INSERT", "UPDATE"},
	"blobs":            {"SELECT", "INSERT", "DELETE"},
	"staged_payloads":  {"SELECT", "INSERT", "UPDATE", "DELETE"},
	"decisions":        {"SELECT", "INSERT"},
	"lookups":          {"SELECT", "INSERT", "UPDATE"},
	"holds":            {"SELECT", "INSERT", "UPDATE"},
	"breakers":         {"SELECT", "INSERT", "UPDATE"},
	"documents":        {"SELECT", "INSERT", "DELETE"},
	"guard_keys":       {"SELECT", "INSERT", "UPDATE", "DELETE"},
	"duplicate_guards": {"SELECT", "INSERT", "UPDATE", "DELETE"},
	"timelines":        {"SELECT", "INSERT"},
	"budgets":          {"SELECT", "INSERT", "UPDATE"},
	"budget_changes":   {"SELECT", "INSERT"},
	"budget_counters":  {"SELECT", "INSERT", "UPDATE"},
	"budget_charges":   {"SELECT", "INSERT", "UPDATE"},
	"policy_sets":      {"SELECT", "INSERT"},
	"policy_changes":   {"SELECT", "INSERT"},
	"consents":         {"SELECT", "INSERT"},
	"egress_rules":     {"SELECT", "INSERT"},
	"budget_waits":     {"SELECT", "INSERT", "UPDATE", "DELETE"},
}

// Denied lists what the role needs and does not have, as "INSERT on intents". Tables that
// do not exist are not in it.
func (i *Inspector) Denied(ctx context.Context) ([]string, error) {
	var tables, kinds []string
	for table, needed := range privileges {
		for _, kind := range needed {
			tables, kinds = append(tables, table), append(kinds, kind)
		}
	}
	const query = `
		SELECT kind || ' on ' || name FROM unnest($1::text[], $2::text[]) AS needed (name, kind)
		WHERE to_regclass(name) IS NOT NULL AND NOT has_table_privilege(to_regclass(name), kind)
		UNION ALL
		SELECT 'EXECUTE on ' || p.oid::regprocedure FROM pg_proc p
		WHERE p.oid IN (to_regproc('writ_now'), to_regproc('writ_hold_lock'), to_regproc('pg_control_system'), to_regproc('pg_walfile_name')) AND NOT has_function_privilege(p.oid, 'EXECUTE')
		ORDER BY 1`
	rows, err := i.conn.Query(ctx, query, tables, kinds)
	if err != nil {
		return nil, wrap("read the role's privileges", err)
	}
	denied, err := pgx.CollectRows(rows, pgx.RowTo[string])
	return denied, wrap("read the role's privileges", err)
}

// Queue is a Temporal task queue and the tools that its workers published.
type Queue struct {
	Name  string
	Tools []string
}

// Queues returns the task queues of the tools in force, ordered by name.
func (i *Inspector) Queues(ctx context.Context) ([]Queue, error) {
	const query = `
		WITH in_force AS (
			SELECT DISTINCT ON (name) name, task_queue FROM tool_specs ORDER BY name, published_at DESC, digest
		)
		SELECT task_queue, array_agg(name ORDER BY name) FROM in_force GROUP BY task_queue ORDER BY task_queue`
	rows, err := i.conn.Query(ctx, query)
	if err != nil {
		return nil, wrap("read the published tools", err)
	}
	queues, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Queue])
	return queues, wrap("read the published tools", err)
}
