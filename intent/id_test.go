package intent_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/uuid"
	"pgregory.net/rapid"

	"writ/intent"
)

func TestIntentIDsAndKeysAreUUIDsOfVersion8(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		key := intent.RequestKey(rapid.StringMatching(`[ -~]{1,20}`).Draw(t, "key"))
		id := intent.IntentID("acme", key)
		idempotency := intent.DeriveKey("acme", "payments.capture", key, 1)
		if len(idempotency) != 36 {
			t.Errorf("an idempotency key of %d bytes: %q", len(idempotency), idempotency)
		}
		for _, s := range []string{id.String(), string(idempotency)} {
			u, err := uuid.Parse(s)
			if err != nil || u.Version() != 8 || u.Variant() != uuid.RFC4122 || u.String() != s {
				t.Errorf("%q: version %d, variant %v, %v", s, u.Version(), u.Variant(), err)
			}
		}
	})
}

func TestTheIdentityOfAnIntentIsItsTenantAndRequestKey(t *testing.T) {
	t.Parallel()
	seen := map[intent.ID]string{}
	// Neighbours that a careless concatenation would confuse.
	for _, c := range [][2]string{
		{"a", "bc"}, {"ab", "c"}, {"a", "b"}, {"b", "a"}, {"abc", ""}, {"", "abc"},
		{"a", `b","tenant":"c`}, {"a", " b"}, {"a", "b "}, {"A", "b"}, {"a", "B"},
	} {
		id := intent.IntentID(c[0], intent.RequestKey(c[1]))
		if id != intent.IntentID(c[0], intent.RequestKey(c[1])) {
			t.Errorf("%q: two ids for one intent", c)
		}
		if id.IsZero() || seen[id] != "" {
			t.Errorf("%q has the id of %s", c, seen[id])
		}
		seen[id] = c[0] + "/" + c[1]
	}
}

func TestAnIdempotencyKeyDependsOnTenantToolRequestKeyAndGeneration(t *testing.T) {
	t.Parallel()
	keys := map[intent.IdempotencyKey]bool{
		intent.DeriveKey("acme", "payments.capture", "order-1", 1):  true,
		intent.DeriveKey("acme", "payments.capture", "order-1", 2):  true,
		intent.DeriveKey("acme", "payments.capture", "order-2", 1):  true,
		intent.DeriveKey("acme", "payments.refund", "order-1", 1):   true,
		intent.DeriveKey("other", "payments.capture", "order-1", 1): true,
	}
	if len(keys) != 5 {
		t.Errorf("5 different sends share %d keys", len(keys))
	}
	if keys[intent.IdempotencyKey(intent.IntentID("acme", "order-1").String())] {
		t.Error("an intent's id is one of its keys: the domains are not separated")
	}
}

func TestAnIDHasOneText(t *testing.T) {
	t.Parallel()
	id := intent.IntentID("acme", "order-1")
	encoded, err := json.Marshal(map[string]intent.ID{"id": id})
	if err != nil || string(encoded) != `{"id":"`+id.String()+`"}` {
		t.Errorf("encoded as %s, %v", encoded, err)
	}
	var decoded map[string]intent.ID
	if err := json.Unmarshal(encoded, &decoded); err != nil || decoded["id"] != id {
		t.Errorf("%s decoded as %v, %v", encoded, decoded, err)
	}
	if parsed, err := intent.ParseID(id.String()); err != nil || parsed != id {
		t.Errorf("ParseID(%s) = %s, %v", id, parsed, err)
	}
	if (intent.ID{}).String() != "00000000-0000-0000-0000-000000000000" || !(intent.ID{}).IsZero() {
		t.Errorf("the zero id is %s", intent.ID{})
	}
	for _, bad := range []string{
		"", "x", strings.ToUpper(id.String()), "{" + id.String() + "}", "urn:uuid:" + id.String(),
		strings.ReplaceAll(id.String(), "-", ""), " " + id.String(), id.String() + "0", strings.Repeat("z", 1<<16),
	} {
		got, err := intent.ParseID(bad)
		wantRefusal(t, err, intent.CodeInvalidIntentID, -1)
		if !got.IsZero() {
			t.Errorf("ParseID(%.50q) = %s", bad, got)
		}
		kept := id
		if err := kept.UnmarshalText([]byte(bad)); err == nil || kept != id {
			t.Errorf("UnmarshalText(%.50q) = %v and left %s", bad, err, kept)
		}
	}
}
