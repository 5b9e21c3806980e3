package outbox_test

import (
	"testing"

	"writ/intent"
)

// byHand changes the intent as somebody can who owns the table: with its guards switched off.
func (b bundle) byHand(t *testing.T, id intent.ID, change string) {
	t.Helper()
	b.exec(t, `ALTER TABLE intents DISABLE TRIGGER ALL`)
	b.exec(t, `UPDATE intents SET `+change+` WHERE id = $1`, id[:])
	b.exec(t, `ALTER TABLE intents ENABLE TRIGGER ALL`)
}

// alterations are changes after which the intent is not what was authorized. The database itself
// refuses all but the decision, which a refusal replaces.
var alterations = map[string]string{
	"the payload":         `payload = '{"amount":"9999.00"}'`,
	"who asked":           `principal = 'mallory'`,
	"for whom it acts":    `effect_context = '{"principal":"till-7","tenant":"acme","on_behalf_of":["mallory"]}'`,
	"the tool":            `tool = 'payments.refund'`,
	"the tool's spec":     `spec_digest = sha256('another')`,
	"what was decided":    `decision = '{"allow":true,"approvers":1}'`,
	"the idempotency key": `idempotency_key = '00000000-0000-8000-8000-000000000000'`,
	"the salt":            `salt = '\x00000000000000000000000000000000'`,
}

func TestWhatSomebodyChangedByHandIsNeitherConfirmedNorSent(t *testing.T) {
	t.Parallel()
	for name, change := range alterations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := start(t)
			waits := b.awaiting(t)
			if _, err := b.pool.Exec(t.Context(), `UPDATE intents SET version = version + 1, `+change); err == nil && name != "what was decided" {
				t.Error("the database lets it change")
			}
			confirmed, err := b.Confirm(t.Context(), b.insertAwaiting(t, "order-1").ID, eve)
			if err != nil {
				t.Fatal(err)
			}
			b.byHand(t, waits.ID, change)
			if _, err := b.Confirm(t.Context(), waits.ID, eve); intent.CodeOf(err) != intent.CodeIntentAltered {
				t.Errorf("changed while it waits: %v", err)
			}
			if after := b.load(t, waits.ID); after.State != intent.AwaitingConfirmation || len(after.Decided) != 0 {
				t.Errorf("%+v", after)
			}
			b.byHand(t, confirmed.ID, change)
			if c := b.claim(t, b.load(t, confirmed.ID)); c.Granted || !(c.Altered || c.Diverged) {
				t.Errorf("changed after it was confirmed: %+v", c)
			}
			if denied, err := b.Deny(t.Context(), denial(b.load(t, waits.ID)), ada, seal); err != nil || denied.State != intent.Refused {
				t.Errorf("denied: %+v, %v", denied, err)
			}
		})
	}
}
