package outbox

import (
	"strings"
	"testing"

	"writ/internal/pgtest"
)

func TestAGateReadsOneRowOfAnIndexForEachLine(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	if err := Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pool, _ := pgtest.Pool(t, url)
	for _, statement := range []string{`
		INSERT INTO consents (tenant, person, purpose, number, granted, principal, authentication_source, roles, on_behalf_of, note, changed_at)
		SELECT 'acme', 'person-' || n, 'marketing', 1, true, 'eve', 'direct', '{}', '{}', '', writ_now() FROM generate_series(1, 20000) n`, `
		INSERT INTO egress_rules (tenant, data_class, provider, number, allowed, principal, authentication_source, roles, on_behalf_of, note, changed_at)
		SELECT 'tenant-' || n, 'contact', 'mailer', 1, true, 'eve', 'direct', '{}', '{}', '', writ_now() FROM generate_series(1, 20000) n`,
		`ANALYZE consents`, `ANALYZE egress_rules`,
	} {
		if _, err := pool.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	for name, tc := range map[string]struct {
		query, index string
		args         []any
	}{
		"consents": {missingConsents, "consents_pkey", []any{"acme", []string{"person-1", "person-2"}, []string{"marketing"}}},
		"egress":   {missingEgress, "egress_rules_pkey", []any{"tenant-7", "mailer", []string{"contact", "health"}}},
	} {
		plan := explain(t, pool, tc.query, tc.args)
		if !strings.Contains(plan, tc.index) || strings.Contains(plan, "Seq Scan") || !strings.Contains(plan, "Limit") {
			t.Errorf("%s:\n%s", name, plan)
		}
	}
}
