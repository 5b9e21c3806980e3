package activities_test

import (
	"bytes"
	"errors"
	"reflect"
	"slices"
	"testing"

	"writ/activities"
	"writ/intent"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

func TestAKeyedToolThatSucceedsAtOnceTakesThreeFlushedCommits(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, keyed(), applied)
	in := ask("payments.capture")
	b.commits.Take()
	p, steps := b.drive(t, in)
	if p.State != intent.Completed || !slices.Equal(steps, []string{"persist", "invoke", "stop"}) {
		t.Fatalf("%v, %+v", steps, p)
	}
	if count, want := b.commits.Take(), (pgtest.CommitCount{Flushed: 3, Relaxed: 1}); count != want {
		t.Errorf("%+v, want %+v", count, want)
	}
	if len(provider.asked()) != 1 {
		t.Errorf("asked %d times", len(provider.asked()))
	}
}

func TestAReadThatSucceedsAtOnceTakesOneFlushedCommit(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, read(), applied)
	in := ask("echo")
	b.commits.Take()
	p, steps := b.drive(t, in)
	if p.State != intent.Completed || !slices.Equal(steps, []string{"answer", "stop"}) {
		t.Fatalf("%v, %+v", steps, p)
	}
	if count, want := b.commits.Take(), (pgtest.CommitCount{Flushed: 1}); count != want {
		t.Errorf("%+v, want %+v", count, want)
	}
	r := b.receipt(t, in)
	if r.State != intent.Completed || r.Outcome != intent.Applied || r.Reason != intent.ReasonApplied || len(r.Attempts) != 1 {
		t.Errorf("%+v", r)
	}
	// The same request again gives the recorded answer.
	if p, steps := b.drive(t, in); p.State != intent.Completed || len(steps) != 1 || len(provider.asked()) != 1 {
		t.Errorf("again: %v, %+v, asked %d times", steps, p, len(provider.asked()))
	}
}

func TestADetachedReadIsCommittedBeforeItRuns(t *testing.T) {
	t.Parallel()
	b, _ := hosting(t, read(), applied)
	p, steps := b.drive(t, ask("echo", detached))
	if p.State != intent.Completed || !slices.Equal(steps, []string{"persist", "invoke", "stop"}) {
		t.Errorf("%v, %+v", steps, p)
	}
}

func TestTheToolReceivesExactlyWhatWasAuthorizedAndPersisted(t *testing.T) {
	t.Parallel()
	b, provider := hosting(t, keyed(), answering(tools.Unknown(errors.New("504"))), answering(tools.NotApplied(errors.New("503"))), applied)
	// What an encoder that escapes made of the payload.
	in := ask("payments.capture", func(r *activities.Request) {
		r.Payload = []byte(`{ "note": "\u003c\u0026\u003e", "id": 2512292042121000001, "amount": 1.0 }`)
	})
	if p, _ := b.drive(t, in); p.State != intent.Completed {
		t.Fatalf("%+v", p)
	}
	row := b.row(t, in)
	for i, inv := range provider.asked() {
		if inv.IdempotencyKey() != string(row.IdempotencyKey) || inv.Attempt() != i+1 || inv.Tool() != "payments.capture" {
			t.Errorf("attempt %d: key %s, number %d", i+1, inv.IdempotencyKey(), inv.Attempt())
		}
		if want := `{"amount":1,"id":2512292042121000001,"note":"<&>"}`; string(inv.Payload()) != want {
			t.Errorf("attempt %d: payload %s", i+1, inv.Payload())
		}
		if !reflect.DeepEqual(inv.Context(), in.Request.Context) || !inv.Deadline().Before(inv.SendBy()) {
			t.Errorf("attempt %d: context %+v, deadline %s, send by %s", i+1, inv.Context(), inv.Deadline(), inv.SendBy())
		}
	}
	if len(provider.asked()) != 3 {
		t.Errorf("asked %d times", len(provider.asked()))
	}
}

func TestAnIntentEndsAsItsEvidenceSays(t *testing.T) {
	t.Parallel()
	unknown, refused := answering(tools.Unknown(errors.New("http_504"))), answering(tools.NotApplied(errors.New("http_401")).AsFinal())
	for name, tc := range map[string]struct {
		spec    tools.Spec
		answers []func() (tools.Result, error)
		state   intent.State
		calls   int
		reason  string // of the receipt
	}{
		"keyed: unknown, then applied":         {keyed(), []func() (tools.Result, error){unknown, applied}, intent.Completed, 2, intent.ReasonApplied},
		"keyed: unknown, then refused":         {keyed(), []func() (tools.Result, error){unknown, refused}, intent.InDoubt, 3, ""},
		"keyed: refused":                       {keyed(), []func() (tools.Result, error){refused}, intent.Failed, 1, intent.ReasonFinalFailure},
		"keyed: always not applied":            {keyed(), []func() (tools.Result, error){answering(tools.NotApplied(errors.New("503")))}, intent.Failed, 3, intent.ReasonBudgetSpent},
		"keyed: a bare error":                  {keyed(), []func() (tools.Result, error){answering(errors.New("EOF")), applied}, intent.Completed, 2, intent.ReasonApplied},
		"opaque: applied":                      {opaque(), []func() (tools.Result, error){applied}, intent.Completed, 1, intent.ReasonApplied},
		"opaque: unknown":                      {opaque(), []func() (tools.Result, error){unknown}, intent.InDoubt, 1, ""},
		"opaque: a bare error":                 {opaque(), []func() (tools.Result, error){answering(errors.New("EOF"))}, intent.InDoubt, 1, ""},
		"opaque: not applied, then applied":    {opaque(), []func() (tools.Result, error){answering(tools.NotApplied(errors.New("503"))), applied}, intent.Completed, 2, intent.ReasonApplied},
		"read: a bare error, then an answer":   {read(), []func() (tools.Result, error){answering(errors.New("EOF")), applied}, intent.Completed, 2, intent.ReasonApplied},
		"read: refused":                        {read(), []func() (tools.Result, error){refused}, intent.Failed, 1, intent.ReasonFinalFailure},
		"read: unknown, once more than budget": {read(), []func() (tools.Result, error){unknown}, intent.Failed, 4, intent.ReasonBudgetSpent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, provider := hosting(t, tc.spec, tc.answers...)
			in := ask(tc.spec.Name)
			p, steps := b.drive(t, in)
			if p.State != tc.state || p.Step.Kind != intent.Stop {
				t.Errorf("%s after %v", p.State, steps)
			}
			if calls := len(provider.asked()); calls != tc.calls {
				t.Errorf("asked %d times, want %d", calls, tc.calls)
			}
			if tc.reason == "" {
				if b.rows(t) != 1+len(b.row(t, in).Attempts) {
					t.Error("an intent in doubt has a receipt")
				}
			} else if r := b.receipt(t, in); r.Reason != tc.reason || r.State != tc.state || (r.Outcome == intent.Applied) != (tc.state == intent.Completed) {
				t.Errorf("%+v", r)
			}
			if again, _ := b.drive(t, in); again.State != tc.state || len(provider.asked()) != tc.calls {
				t.Errorf("the same request again: %s, asked %d times", again.State, len(provider.asked()))
			}
		})
	}
}

func TestAReceiptBindsWhatWasAuthorizedToWhatHappened(t *testing.T) {
	t.Parallel()
	b, _ := hosting(t, keyed(), answering(tools.Unknown(errors.New("boom")).WithCode("http_504")), applied)
	in := ask("payments.capture")
	b.drive(t, in)
	row, r := b.row(t, in), b.receipt(t, in)
	payload, err := b.store.Payload(t.Context(), in.IntentID)
	if err != nil {
		t.Fatal(err)
	}
	// All of it is computed again from the row, as an auditor with the database would.
	fingerprint := intent.Fingerprint(row.Salt, intent.Action{Tenant: r.Tenant, Principal: r.Principal, Tool: r.Tool, Payload: payload})
	key := intent.DeriveKey(r.Tenant, r.Tool, r.RequestKey, r.Generation)
	commitment := intent.Commitment(intent.Authorized{Fingerprint: fingerprint, SpecDigest: keyed().Digest(),
		Context: in.Request.Context.Canonical(), Decision: r.Decision, Key: key, Generation: 1})
	if r.Commitment != commitment || row.Commitment != commitment || row.Fingerprint != fingerprint || row.IdempotencyKey != key {
		t.Errorf("receipt %+v\nrow %+v", r, row)
	}
	mediaType, body, err := b.result(t, in.IntentID)
	if err != nil || r.ResultDigest == nil || *r.ResultDigest != intent.ResultDigest(row.Salt, mediaType, body) || r.MediaType != mediaType {
		t.Errorf("result digest %v of %s %q, %v", r.ResultDigest, mediaType, body, err)
	}
	if r.KeyDigest != intent.KeyDigest(row.Salt, key) || r.SpecDigest != keyed().Digest() || r.IntentID != in.IntentID || r.RequestKey != row.RequestKey {
		t.Errorf("%+v", r)
	}
	if len(r.Attempts) != 2 || r.Attempts[0].Outcome != intent.Unknown || r.Attempts[0].Code != "http_504" || r.Attempts[1].Outcome != intent.Applied {
		t.Errorf("attempts %+v", r.Attempts)
	}
	if !r.EndedAt.Equal(row.EndedAt) || !r.CreatedAt.Equal(row.CreatedAt) || r.EndedAt.Before(r.CreatedAt) {
		t.Errorf("from %s to %s", r.CreatedAt, r.EndedAt)
	}
	stored, err := r.Canonical()
	if err != nil {
		t.Fatal(err)
	}
	for what, secret := range map[string][]byte{
		"payload": []byte("12.90"), "result": []byte("captured"), "idempotency key": []byte(key), "provider's message": []byte("boom"),
	} {
		if bytes.Contains(stored, secret) {
			t.Errorf("the receipt shows the %s: %s", what, stored)
		}
	}
}

func TestAWorkerThatDiedLeavesItsIntentToTheNextOne(t *testing.T) {
	t.Parallel()
	for _, spec := range []tools.Spec{keyed(), opaque(), read()} {
		t.Run(spec.Name, func(t *testing.T) {
			t.Parallel()
			b, provider := hosting(t, spec, applied)
			in := ask(spec.Name, detached)
			p := b.recorded(t, in)
			// The claim of a worker that is gone.
			claim, err := b.store.Claim(t.Context(), outbox.ClaimRequest{ID: in.IntentID, Version: p.Version, DecidedAt: p.DecidedAt, Worker: "dead", SpecDigest: spec.Digest()})
			if err != nil || !claim.Granted {
				t.Fatalf("%+v, %v", claim, err)
			}
			// Recovery starts it again from the row alone.
			p, steps := b.drive(t, activities.Input{IntentID: in.IntentID})
			want, calls := intent.Completed, 1
			if spec.Class() == intent.Opaque {
				want, calls = intent.InDoubt, 0
			}
			if p.State != want || len(provider.asked()) != calls {
				t.Errorf("%s after %v, asked %d times", p.State, steps, len(provider.asked()))
			}
		})
	}
}

func TestPolicyIsAskedAgainBeforeEveryAttempt(t *testing.T) {
	t.Parallel()
	for name, claimed := range map[string]bool{"never sent": false, "sent": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b, provider := hosting(t, keyed(), applied)
			in := ask("payments.capture")
			p := b.recorded(t, in)
			if claimed {
				if _, err := b.store.Claim(t.Context(), outbox.ClaimRequest{ID: in.IntentID, Version: p.Version, DecidedAt: p.DecidedAt, SpecDigest: keyed().Digest()}); err != nil {
					t.Fatal(err)
				}
			}
			strict := b.worker(t, policyFunc(func() (policy.Verdict, error) {
				return policy.Verdict{Reason: "the till is closed"}, nil
			}), tools.New(keyed(), provider.invoke))
			p, steps := strict.drive(t, activities.Input{IntentID: in.IntentID})
			if claimed {
				// The claim of a lost worker may have sent, and nothing more may be.
				if p.State != intent.InDoubt || len(provider.asked()) != 0 {
					t.Errorf("%s after %v", p.State, steps)
				}
				return
			}
			r := b.receipt(t, in)
			if p.State != intent.Refused || len(provider.asked()) != 0 || !bytes.Contains(r.Decision, []byte(`"code":"policy_denied"`)) {
				t.Errorf("%s after %v, receipt %+v", p.State, steps, r)
			}
			row := b.row(t, in)
			if row.Commitment != r.Commitment || !bytes.Equal(row.Decision, r.Decision) {
				t.Errorf("row %+v\nreceipt %+v", row, r)
			}
		})
	}
}
