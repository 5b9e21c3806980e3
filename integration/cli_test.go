package integration

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"

	"writ/intent"
)

func TestBadInputIsRefusedBeforeAnythingIsWritten(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	for name, c := range map[string]struct {
		action
		code intent.Code
	}{
		"no JSON":              {action{capture.tool, `{"payment_id":`}, intent.CodeInvalidJSON},
		"a member twice":       {action{capture.tool, `{"amount":"1.00","amount":"2.00"}`}, intent.CodeDuplicateMember},
		"no object":            {action{capture.tool, `[1]`}, intent.CodePayloadNotObject},
		"more after it":        {action{capture.tool, capture.payload + `{}`}, intent.CodeTrailingData},
		"not the tool's":       {action{capture.tool, `{"payment_id":"pay_1"}`}, intent.CodeInputSchema},
		"a misspelt tool":      {action{"payments.captuer", capture.payload}, intent.CodeUnknownTool},
		"a tool that looks so": {action{"payments.сapture", capture.payload}, intent.CodeInvalidName}, // a Cyrillic с
	} {
		t.Run(name, func(t *testing.T) {
			got := w.ask(t, c.action, requestKey).outcome(t)
			if got.status != 2 || got.Error.Code != c.code || got.Error.Effect != intent.NotApplied || got.Error.TryAgain {
				t.Errorf("status %d, error %+v; want 2, %s, not_applied", got.status, got.Error, c.code)
			}
		})
	}
	var intents int
	if query(t, w.database, `SELECT count(*) FROM intents`, &intents); intents != 0 {
		t.Errorf("%d intents were written", intents)
	}
	w.provider.requests(t, 0)
	// None of them used the key up.
	w.ask(t, capture, requestKey).outcome(t).completed(t)
	w.provider.effects(t, 1)
}

func TestWithoutItsInfrastructureACallerIsToldWhatTheRequestIsWorth(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t).stop(t) // its tools stay published
	const nobody = "127.0.0.1:1"
	empty := strings.ToLower(w.name) + "_empty"
	query(t, w.database, `CREATE SCHEMA `+empty)
	for name, c := range map[string]struct {
		arguments []string
		code      intent.Code
	}{
		"no Temporal":         {[]string{"--temporal-address", nobody}, intent.CodeTemporalUnavailable},
		"no database":         {[]string{"--database-url", "postgres://writ@" + nobody + "/writ"}, intent.CodeDatabaseUnavailable},
		"no tables":           {[]string{"--database-url", within(t, w.stack.DatabaseURL, empty)}, intent.CodeMigrationRequired},
		"no worker":           {[]string{"--timeout", "1s"}, intent.CodeNotYetKnown},
		"no worker, detached": {[]string{"--detach", "--timeout", "1s"}, intent.CodeNotYetKnown},
	} {
		t.Run(name, func(t *testing.T) {
			got := w.ask(t, capture, strings.ReplaceAll(name, " ", "-"), c.arguments...).outcome(t)
			if got.status != 1 || got.Error.Code != c.code || got.Error.Effect != intent.Unknown {
				t.Errorf("status %d, error %+v; want 1, %s, unknown", got.status, got.Error, c.code)
			}
		})
	}
	w.provider.effects(t, 0)
}

func TestADetachedIntentIsFollowedByItsID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	accepted := w.ask(t, capture, requestKey, "--detach").accepted(t)
	if accepted.State == "" || accepted.ID != w.intentID() {
		t.Errorf("accepted intent %s in state %q", accepted.ID, accepted.State)
	}
	id := accepted.ID.String()
	w.awaitReceipt(t)

	if seen := w.writ(t, "intent", "get", id).accepted(t); seen.State != intent.Completed || seen.ID != accepted.ID {
		t.Errorf("intent get shows %s in state %s", seen.ID, seen.State)
	}
	joined := w.ask(t, capture, requestKey).outcome(t)
	joined.completed(t)
	get := w.writ(t, "receipt", "get", id)
	if status := get.status(t); status != 0 {
		t.Errorf("receipt get ends with status %d", status)
	}
	if stored := strings.TrimSuffix(string(get.stdout.bytes()), "\n"); stored != string(joined.Receipt) {
		t.Errorf("receipt get prints\n%s\nexecute has printed\n%s", stored, joined.Receipt)
	}
	canonical, err := intent.Canonicalize(joined.Receipt)
	if err != nil || string(canonical) != string(joined.Receipt) {
		t.Errorf("the receipt is not canonical JSON: %s, %v", joined.Receipt, err)
	}
	w.provider.effects(t, 1)
}

func TestTheProviderReceivesTheCanonicalPayloadByteForByte(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	// Temporal's converter escapes <, > and &; encoding/json escapes U+2028 as well.
	sent := action{capture.tool, `{ "payment_id" : "pay_1", "description" : "<b>1 & 2</b>  é \u00e9 \u0007 😀",
		"currency" : "EUR", "amount" : "129.90" }`}
	want := `{"amount":"129.90","currency":"EUR","description":"<b>1 & 2</b>` + "\u2028\u2029" + ` é é \u0007 😀","payment_id":"pay_1"}`
	sent.payload = strings.Replace(sent.payload, "</b>", "</b>\u2028\\u2029", 1)
	want = strings.Replace(want, "\u2028\u2029 é", "\u2028\u2029  é", 1)

	got := w.ask(t, sent, requestKey).outcome(t)
	got.completed(t)
	if string(got.Intent.Payload) != want {
		t.Errorf("the row has the payload\n%s\nwant\n%s", got.Intent.Payload, want)
	}
	sum := sha256.Sum256([]byte(want))
	for _, entry := range w.provider.effects(t, 1) {
		if entry.BodySHA256 != hex.EncodeToString(sum[:]) || string(entry.Body) != want {
			t.Errorf("the provider received\n%s\nwant\n%s", entry.Body, want)
		}
	}
}

func TestNumbersKeepAllTheirDigits(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.startWorker(t)
	sent := action{echo.tool, `{"account":2512292042121000001,"one":1.0,"rate":0.1000,"tiny":1e-400}`}
	const want = `{"account":2512292042121000001,"one":1,"rate":0.1,"tiny":1e-400}`
	got := w.ask(t, sent, requestKey).outcome(t)
	got.completed(t)
	if string(got.Intent.Payload) != want || got.Answer == nil || string(got.Answer.JSON) != want {
		t.Errorf("the row has %s and the answer is %+v, want %s", got.Intent.Payload, got.Answer, want)
	}
	// One value has many spellings, and all of them are the same action.
	again := action{echo.tool, `{"account":2512292042121000001.0,"one":1e0,"rate":1e-1,"tiny":0.1e-399}`}
	w.ask(t, again, requestKey).outcome(t).completed(t)
	other := action{echo.tool, `{"account":2512292042121000002,"one":1,"rate":0.1,"tiny":1e-400}`}
	if got := w.ask(t, other, requestKey).outcome(t); got.status != 7 {
		t.Errorf("another account ends with status %d, want 7", got.status)
	}
}
