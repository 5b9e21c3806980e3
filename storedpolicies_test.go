package writ

import (
	"encoding/json"
	"strings"
	"sync"
	"testing"

	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/policy"
	"writ/policy/cedar"
)

func TestAWorkerReadsThePoliciesInForceOnceAndThoseThatDoNotFitGiveNoAnswer(t *testing.T) {
	t.Parallel()
	url := pgtest.Schema(t)
	if err := outbox.Migrate(t.Context(), url); err != nil {
		t.Fatal(err)
	}
	pool, _ := pgtest.Pool(t, url)
	store := outbox.New(pool)
	p := &storedPolicies{store: store, read: map[string]storedSet{}, hosted: []policy.Hosted{{
		Name: "echo", Class: intent.Read, InputSchema: json.RawMessage(`{"type":"object","additionalProperties":false}`),
	}}}
	evaluate := func(digest string) (policy.Verdict, error) {
		return p.Evaluate(t.Context(), policy.Facts{
			Context: intent.EffectContext{Principal: "ada", Tenant: "acme"}, Tool: policy.Tool{Name: "echo"}, Payload: []byte("{}"), InForce: digest,
		})
	}
	for text, says := range map[string]string{
		`permit(principal, action, resource);`:                                        "",
		`permit(principal, action, resource) when { context.payload.amount == "1" };`: "a.cedar:1: ",
		`permit(principal, action);`:                                                  "a.cedar:1: ",
	} {
		digest := strings.Repeat("2", 64) // of what is no set
		if set, err := cedar.FromFiles(map[string]string{"a.cedar": text}); err == nil {
			digest = set.Digest().String()
		}
		if err := store.SavePolicies(t.Context(), digest, map[string]string{"a.cedar": text}); err != nil {
			t.Fatal(err)
		}
		if v, err := evaluate(digest); err == nil || v.Allow {
			t.Errorf("%s, before it was read: %+v, %v", text, v, err)
		}
		var group sync.WaitGroup
		for range 4 {
			group.Go(func() {
				if err := p.follow(t.Context(), digest); err != nil {
					t.Error(err)
				}
			})
		}
		group.Wait()
		v, err := evaluate(digest)
		if says == "" && (err != nil || !v.Allow) || says != "" && (err == nil || v.Allow || !strings.Contains(err.Error(), says)) {
			t.Errorf("%s: %+v, %v", text, v, err)
		}
	}
	if v, err := evaluate(""); err != nil || v.Allow || !strings.Contains(v.Reason, "no policies are in force") {
		t.Errorf("with none: %+v, %v", v, err)
	}
	edited := strings.Repeat("3", 64) // by hand, and no JSON
	if _, err := pool.Exec(t.Context(), `INSERT INTO policy_sets (digest, files, stored_at) VALUES (decode($1, 'hex'), '{', now())`, edited); err != nil {
		t.Fatal(err)
	}
	if err := p.follow(t.Context(), edited); err != nil {
		t.Error(err)
	}
	if v, err := evaluate(edited); v.Allow || intent.CodeOf(err) != intent.CodeInvalidPolicy || !strings.Contains(err.Error(), "changed by hand") {
		t.Errorf("with a set that was changed by hand: %+v, %v", v, err)
	}
	missing := strings.Repeat("0", 64)
	if err := p.follow(t.Context(), missing); err != nil {
		t.Error(err)
	}
	if v, err := evaluate(missing); v.Allow || intent.CodeOf(err) != intent.CodePoliciesNotFound {
		t.Errorf("with a set that is not kept: %+v, %v", v, err)
	}
	pool.Close()
	if err := p.follow(t.Context(), strings.Repeat("1", 64)); intent.CodeOf(err) != intent.CodeDatabaseUnavailable {
		t.Errorf("without PostgreSQL: %v", err)
	}
}

func TestAWorkerHasOnePolicyOrFollowsPostgreSQL(t *testing.T) {
	t.Parallel()
	if _, err := NewWorker(t.Context(), WorkerConfig{Policy: policy.AllowRegistered{}, StoredPolicies: true}); intent.CodeOf(err) != intent.CodeInvalidConfig {
		t.Errorf("%v", err)
	}
}
