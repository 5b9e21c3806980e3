package outbox

import (
	"context"

	"github.com/jackc/pgx/v5"

	"writ/intent"
)

// EgressSubject is what a rule about egress is about.
type EgressSubject struct {
	// Tenant is whose data it is; empty: that of every tenant without a rule of its own.
	Tenant string
	// DataClass is what may or may not go to Provider.
	DataClass, Provider string
}

// EgressVerdict is what a rule says.
type EgressVerdict string

const (
	// EgressAllow: it may go there.
	EgressAllow EgressVerdict = "allow"
	// EgressDeny: it may not.
	EgressDeny EgressVerdict = "deny"
	// EgressRemoved: the rule was taken back, and says nothing.
	EgressRemoved EgressVerdict = "removed"
)

// verdictOf reads the column allowed.
func verdictOf(allowed *bool) EgressVerdict {
	switch {
	case allowed == nil:
		return EgressRemoved
	case *allowed:
		return EgressAllow
	}
	return EgressDeny
}

// EgressRule is what was said of a subject.
type EgressRule struct {
	EgressSubject
	Verdict EgressVerdict
	Said
}

const addEgressRule = `
	INSERT INTO egress_rules (tenant, data_class, provider, number, allowed, ` + deciderColumns + `, changed_at)
	SELECT $1, $2, $3, 1 + coalesce((SELECT max(number) FROM egress_rules WHERE tenant = $1 AND data_class = $2 AND provider = $3), 0),
		$4, $5, $6, $7, $8, $9, writ_now()
	RETURNING changed_at`

// SetEgress makes a rule, changes it, or takes it back, in one flushed commit. What was said before
// stays on record, and counts no more. The error has code egress_rule_not_found if there is none to
// be taken back.
func (s *Store) SetEgress(ctx context.Context, on EgressSubject, verdict EgressVerdict, by Decider) (EgressRule, error) {
	const stands = `
		SELECT coalesce((SELECT allowed IS NOT NULL FROM egress_rules
			WHERE tenant = $1 AND data_class = $2 AND provider = $3 ORDER BY number DESC LIMIT 1), false)`
	r := EgressRule{EgressSubject: on, Verdict: verdict, Said: Said{By: by}}
	err := s.within(ctx, beginFlushed, func(tx pgx.Tx) error {
		if err := inTurn(ctx, tx, "egress_rules", on.Tenant, on.DataClass, on.Provider); err != nil {
			return err
		}
		var allowed *bool
		if verdict == EgressRemoved {
			var one bool
			if err := tx.QueryRow(ctx, stands, on.Tenant, on.DataClass, on.Provider).Scan(&one); err != nil {
				return err
			}
			if !one {
				return intent.Errorf(intent.CodeEgressRuleNotFound, "no rule about %s for %s stands for %s; `writ egress list` shows those that do", on.DataClass, on.Provider, on.whose())
			}
		} else {
			yes := verdict == EgressAllow
			allowed = &yes
		}
		return tx.QueryRow(ctx, addEgressRule, append([]any{on.Tenant, on.DataClass, on.Provider, allowed}, by.values()...)...).Scan(&r.ChangedAt)
	})
	r.ChangedAt = r.ChangedAt.UTC()
	return r, err
}

func (s EgressSubject) whose() string {
	if s.Tenant == "" {
		return "tenants in general"
	}
	return "tenant " + s.Tenant
}

// EgressRules returns the rules that stand and that the filter names, whose empty members name any;
// with all everything that was ever said. Ordered by subject, the newest first, and at most 1,000.
func (s *Store) EgressRules(ctx context.Context, of EgressSubject, all bool) ([]EgressRule, error) {
	const query = `
		SELECT tenant, data_class, provider, allowed, ` + saidColumns + ` FROM egress_rules e
		WHERE ($1 = '' OR tenant = $1) AND ($2 = '' OR data_class = $2) AND ($3 = '' OR provider = $3)
			AND ($4 OR allowed IS NOT NULL
				AND number = (SELECT max(number) FROM egress_rules WHERE (provider, data_class, tenant) = (e.provider, e.data_class, e.tenant)))
		ORDER BY provider, data_class, tenant, number DESC LIMIT $5`
	rows, err := s.pool.Query(ctx, query, of.Tenant, of.DataClass, of.Provider, all, maxSaid)
	if err != nil {
		return nil, DatabaseError(err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (EgressRule, error) {
		var r EgressRule
		var allowed *bool
		err := row.Scan(append([]any{&r.Tenant, &r.DataClass, &r.Provider, &allowed}, r.columns()...)...)
		r.Verdict, r.ChangedAt = verdictOf(allowed), r.ChangedAt.UTC()
		return r, err
	})
	return list, DatabaseError(err)
}

// NoEgress is a class of data that may not leave.
type NoEgress struct {
	DataClass string
	// Denied says that a rule says so; otherwise none says anything.
	Denied bool
}

// missingEgress looks each class up in the primary key, from the last number of each subject on.
const missingEgress = `
	SELECT d.class, e.allowed IS NOT NULL
	FROM unnest($3::text[]) d (class)
	LEFT JOIN LATERAL (
		SELECT last.allowed FROM (VALUES ($1), ('')) t (tenant), LATERAL (
			SELECT allowed FROM egress_rules WHERE provider = $2 AND data_class = d.class AND tenant = t.tenant ORDER BY number DESC LIMIT 1
		) last
		WHERE last.allowed IS NOT NULL ORDER BY t.tenant = '' LIMIT 1
	) e ON true
	WHERE e.allowed IS NOT TRUE
	ORDER BY e.allowed IS NULL, d.class`

// MissingEgress returns which of the classes of the tenant's data may not go to the provider: first
// those that a rule denies, and then those that none says anything of. The tenant's own rule comes
// before the general one.
func (s *Store) MissingEgress(ctx context.Context, tenant, provider string, classes []string) ([]NoEgress, error) {
	rows, err := s.pool.Query(ctx, missingEgress, tenant, provider, classes)
	if err != nil {
		return nil, DatabaseError(err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[NoEgress])
	return list, DatabaseError(err)
}
