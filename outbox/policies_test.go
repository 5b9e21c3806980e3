package outbox_test

import (
	"maps"
	"strings"
	"sync"
	"testing"

	"writ/outbox"
)

func TestTheTextOfPoliciesIsKeptUnderTheirDigest(t *testing.T) {
	t.Parallel()
	b := start(t)
	digest := strings.Repeat("a1", 32)
	first := map[string]string{"pay/refunds.cedar": "permit (principal, action, resource); // \x00 <&> é\n", "empty.cedar": ""}
	for _, files := range []map[string]string{first, {"other.cedar": "the same with another comment"}} {
		if err := b.SavePolicies(t.Context(), digest, files); err != nil {
			t.Fatal(err)
		}
	}
	if got, known, err := b.Policies(t.Context(), digest); err != nil || !known || !maps.Equal(got, first) {
		t.Errorf("%v, %t, %v", got, known, err)
	}
	for _, other := range []string{strings.Repeat("a2", 32), "", "refunds"} {
		if got, known, err := b.Policies(t.Context(), other); err != nil || known {
			t.Errorf("%q: %v, %t, %v", other, got, known, err)
		}
	}
	if err := b.SavePolicies(t.Context(), "refunds", first); err == nil {
		t.Error("a set without a digest was saved")
	}
	for _, statement := range []string{`UPDATE policy_sets SET files = ''`, `DELETE FROM policy_sets`, `TRUNCATE policy_sets CASCADE`} {
		if _, err := b.pool.Exec(t.Context(), statement); err == nil {
			t.Errorf("%s was accepted", statement)
		}
	}
}

func TestTheLastPoliciesThatSomebodyPutAreInForceAndTheirHistoryIsKept(t *testing.T) {
	t.Parallel()
	b := start(t)
	b.setClock(t, noon)
	inForce := func() string {
		t.Helper()
		now, digest, err := b.NowAndPolicies(t.Context())
		if err != nil || !now.Equal(noon) {
			t.Fatalf("%s, %v", now, err)
		}
		return digest
	}
	if digest := inForce(); digest != "" {
		t.Errorf("before anybody put any, %q are in force", digest)
	}
	one, two := strings.Repeat("01", 32), strings.Repeat("02", 32)
	ada := outbox.Decider{Principal: "ada", Note: "the audit asked for it", Roles: []string{"security"}, AuthenticationSource: "direct"}
	files := map[string]string{"a.cedar": "permit (principal, action, resource);"}
	for i, digest := range []string{one, two, two, one} { // a repeated put changes nothing
		if change, err := b.PutPolicies(t.Context(), digest, files, ada); err != nil || change.Digest != digest || change.Number != min(i+1, 2)+i/3 {
			t.Errorf("put %d: %+v, %v", i, change, err)
		}
		if inForce() != digest {
			t.Errorf("after put %d %s are in force", i, inForce())
		}
	}
	list, err := b.PolicyChanges(t.Context())
	if err != nil || len(list) != 3 || list[0].Number != 3 || list[0].Digest != one || list[1].Digest != two || list[2].Digest != one {
		t.Fatalf("%+v, %v", list, err)
	}
	if last := list[0]; last.By.Principal != "ada" || last.By.Note != ada.Note || len(last.By.Roles) != 1 || len(last.By.OnBehalfOf) != 0 || last.By.AuthenticationSource != "direct" || !last.ChangedAt.Equal(noon) {
		t.Errorf("%+v", last)
	}
	for _, statement := range []string{`UPDATE policy_changes SET note = ''`, `DELETE FROM policy_changes`, `TRUNCATE policy_changes`} {
		if _, err := b.pool.Exec(t.Context(), statement); err == nil {
			t.Errorf("%s was accepted", statement)
		}
	}
}

func TestPoliciesThatArePutAtOnceFollowEachOther(t *testing.T) {
	t.Parallel()
	b := start(t, "pool_max_conns=8")
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			digest := strings.Repeat("0"+string(rune('0'+i)), 32)
			if _, err := b.PutPolicies(t.Context(), digest, nil, outbox.Decider{Principal: "ada"}); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	list, err := b.PolicyChanges(t.Context())
	if err != nil || len(list) != 8 || list[0].Number != 8 || list[7].Number != 1 {
		t.Errorf("%+v, %v", list, err)
	}
	if _, digest, err := b.NowAndPolicies(t.Context()); err != nil || digest != list[0].Digest {
		t.Errorf("%s are in force, %v", digest, err)
	}
}
