package recovery_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"writ/intent"
)

func TestARowThatWasChangedByHandIsParkedBeforeItIsSentAnywhereAndTheRestFlow(t *testing.T) {
	t.Parallel()
	b, e := newBacklog(t)
	changes := map[string]struct {
		set  string
		want intent.Code
	}{
		"payload-no-json":   {`payload = 'x'`, intent.CodeInvalidJSON},
		"payload-no-utf8":   {`payload = '\x7b2261223a22ff227d'`, intent.CodeInvalidUTF8},
		"payload-empty":     {`payload = ''`, intent.CodeInvalidRequest},
		"payload-list":      {`payload = '[]'`, intent.CodePayloadNotObject},
		"payload-twice":     {`payload = '{"a":1,"a":2}'`, intent.CodeDuplicateMember},
		"payload-spaced":    {`payload = '{ }'`, intent.CodeInvalidRequest},
		"context-no-json":   {`effect_context = 'x'`, intent.CodeInvalidRequest},
		"context-empty":     {`effect_context = ''`, intent.CodeInvalidRequest},
		"context-list":      {`effect_context = '[]'`, intent.CodeInvalidRequest},
		"context-null":      {`effect_context = 'null'`, intent.CodeUnauthenticated},
		"context-other":     {`effect_context = '{"principal":"boss","tenant":"acme"}'`, intent.CodeInvalidRequest},
		"principal-other":   {`principal = 'boss'`, intent.CodeInvalidRequest},
		"tenant-other":      {`tenant = 'other'`, intent.CodeInvalidRequest},
		"key-other":         {`request_key = 'key-other-now'`, intent.CodeIntentIDMismatch},
		"key-not-printable": {`request_key = E'key-\n'`, intent.CodeInvalidRequestKey},
		"id-other":          {`id = '00000000-0000-0000-0000-000000000001'`, intent.CodeIntentIDMismatch},
	}
	for key, c := range changes {
		b.enqueue(t, "acme", key, "payments.capture", `{}`)
		if _, err := b.pool.Exec(t.Context(), fmt.Sprintf(`UPDATE enqueued SET %s, note = '%s' WHERE request_key = '%[2]s'`, c.set, key)); err != nil {
			t.Fatalf("%s: %v", key, err)
		}
	}
	b.enqueueMany(t, 3)
	dispatch(t, dispatcher(b, e, 0))
	for key, c := range changes {
		var code intent.Code
		var text string
		const query = `SELECT error_code, error FROM enqueued WHERE note = $1 AND parked_at IS NOT NULL`
		if err := b.pool.QueryRow(t.Context(), query, key).Scan(&code, &text); err != nil {
			t.Errorf("%s: %v", key, err)
		}
		if code != c.want || !strings.Contains(text, "writ enqueued drop") {
			t.Errorf("%s: %s: %s, want %s", key, code, text, c.want)
		}
	}
	started := slices.Sorted(maps.Keys(e.started))
	if got := strings.Join(started, " "); got != "order-0 order-1 order-2" || b.intents(t) != 3 {
		t.Errorf("%d intents, started %s", b.intents(t), got)
	}
}
