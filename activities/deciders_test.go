package activities_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/policy"
	"writ/tools"
)

// bureau is a policy that wants people, and rules which.
type bureau struct {
	*approvers
	mu      sync.Mutex
	refuses []string
	err     error
	acts    []policy.Act
}

func (b *bureau) MayDecide(_ context.Context, a policy.Act) (policy.Verdict, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.acts = append(b.acts, a)
	if slices.Contains(b.refuses, a.By.Principal) {
		return policy.Verdict{Reason: "forbidden by not-them", Policies: []string{"not-them"}}, b.err
	}
	return policy.Verdict{Allow: true}, b.err
}

func (b *bureau) set(refuses []string, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refuses, b.err = refuses, err
}

func (b *bureau) asked() []policy.Act {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.acts
}

func TestOnlyTheConfirmationsCountThatThePolicyOfNowPermits(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		people  int
		refuses []string
		err     error
		code    intent.Code // empty: it runs
		says    string
	}{
		"all are permitted":         {2, nil, nil, "", ""},
		"one is not":                {2, []string{"eve"}, nil, intent.CodeConfirmationInsufficient, "2 to confirm it, and 1 who may did (eve may not: forbidden by not-them)"},
		"none is":                   {2, []string{"ada", "eve"}, nil, intent.CodeConfirmationInsufficient, "0 who may did (eve may not: forbidden by not-them; ada may not: forbidden by not-them)"},
		"one is enough by now":      {1, []string{"eve"}, nil, "", ""},
		"nobody is needed by now":   {0, []string{"ada", "eve"}, nil, "", ""},
		"the policy gives no words": {2, nil, errors.New("unreachable"), intent.CodeGateError, "gave no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := &bureau{approvers: wants(2)}
			b, in, world := confirmed(t, rules)
			rules.Store(int32(c.people))
			rules.set(c.refuses, c.err)
			p, steps := b.drive(t, activities.Input{IntentID: in.IntentID})
			if c.code == "" {
				if p.State != intent.Completed || len(world.asked()) != 1 {
					t.Errorf("%+v after %v, %d calls", p, steps, len(world.asked()))
				}
				return
			}
			r := b.receipt(t, in)
			if p.State != intent.Refused || r.Outcome != intent.NotApplied || len(world.asked()) != 0 || len(r.Decisions) != 2 {
				t.Errorf("%+v after %v, %d calls, receipt %+v", p, steps, len(world.asked()), r)
			}
			recorded := string(r.Decision)
			if !strings.Contains(recorded, `"`+string(c.code)+`"`) || !strings.Contains(recorded, c.says) || c.refuses != nil && !strings.Contains(recorded, `"policies":["not-them"]`) {
				t.Errorf("the receipt says %s", recorded)
			}
		})
	}
}

func TestAConfirmationIsJudgedAsItIsOnRecord(t *testing.T) {
	t.Parallel()
	rules := &bureau{approvers: wants(2)}
	b, in, _ := confirmed(t, rules)
	b.drive(t, activities.Input{IntentID: in.IntentID})
	recorded, err := b.store.Decisions(t.Context(), in.IntentID)
	acts := rules.asked()
	if err != nil || len(acts) != 2 || len(recorded) != 2 {
		t.Fatalf("asked %+v about %+v, %v", acts, recorded, err)
	}
	for i, a := range acts {
		if a.Action != policy.ActionConfirm || a.By.Principal != recorded[i].Principal || !slices.Equal(a.By.Roles, []string{"finance"}) ||
			!slices.Equal(a.By.OnBehalfOf, []string{a.By.Principal + "-desk"}) || a.By.AuthenticationSource != intent.AuthenticatedDirect {
			t.Errorf("who confirmed: %+v", a)
		}
		if !a.On.Now.Equal(recorded[i].DecidedAt) || a.On.Context.Principal != in.Request.Context.Principal || len(a.On.Payload) == 0 || a.On.Tool.Name != in.Request.Tool {
			t.Errorf("what was confirmed: %+v", a.On)
		}
	}
}

// Nobody is asked about, and nothing more is read, where nobody was waited for.
func TestWhereNobodyConfirmedThePolicyIsAskedAboutNobody(t *testing.T) {
	t.Parallel()
	rules := &bureau{approvers: wants(0)}
	world := &provider{answers: []func() (tools.Result, error){lost, applied}}
	b := start(t, rules, tools.New(keyed(), world.invoke))
	in := ask("payments.capture")
	out := b.invoke(t, b.recorded(t, in), in)
	b.journal(t, activities.JournalInput{Input: activities.Input{IntentID: in.IntentID}, Evidence: out.Evidence})
	if p, steps := b.drive(t, activities.Input{IntentID: in.IntentID}); p.State != intent.Completed || len(rules.asked()) != 0 {
		t.Errorf("%+v after %v; asked %+v", p, steps, rules.asked())
	}
}

func TestAConfirmerWhoIsNotPermittedAnyMoreStopsWhatWouldStillBeSent(t *testing.T) {
	t.Parallel()
	rules := &bureau{approvers: wants(2)}
	b, in, world := confirmed(t, rules)
	world.answers = []func() (tools.Result, error){lost, applied}
	fromRow := activities.Input{IntentID: in.IntentID}
	p, err := b.Authorize(t.Context(), fromRow)
	if err != nil {
		t.Fatal(err)
	}
	out := b.invoke(t, p, in)
	b.journal(t, activities.JournalInput{Input: fromRow, Evidence: out.Evidence})
	b.later(t, 5*time.Second) // after the backoff
	rules.set(nil, errors.New("unreachable"))
	if p, err := b.Authorize(t.Context(), fromRow); err == nil {
		t.Errorf("without an answer it goes on: %+v", p)
	}
	rules.set([]string{"ada"}, nil)
	if p, steps := b.drive(t, fromRow); p.State != intent.InDoubt || len(world.asked()) != 1 {
		t.Errorf("%+v after %v, %d calls", p, steps, len(world.asked()))
	}
	if row := b.row(t, in); !strings.Contains(string(row.Revocation), "ada may not") {
		t.Errorf("revoked by %s", row.Revocation)
	}
}

func TestASuspectedDuplicateRunsOnlyByAConfirmationThatThePolicyOfNowPermits(t *testing.T) {
	t.Parallel()
	for name, refuses := range map[string][]string{"permitted": nil, "not permitted": {"eve"}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rules := &bureau{approvers: wants(0)}
			world := &provider{answers: []func() (tools.Result, error){applied}}
			b := start(t, rules, tools.New(guarding(intent.ConfirmDuplicates), world.invoke))
			b.drive(t, again(1))
			repeat := again(2)
			if p, _ := b.drive(t, repeat); p.State != intent.AwaitingConfirmation {
				t.Fatalf("%+v", p)
			}
			if _, err := b.store.Confirm(t.Context(), repeat.IntentID, outbox.Decider{Principal: "eve"}); err != nil {
				t.Fatal(err)
			}
			rules.set(refuses, nil)
			p, _ := b.drive(t, activities.Input{IntentID: repeat.IntentID})
			if refuses == nil {
				if p.State != intent.Completed || len(world.asked()) != 2 {
					t.Errorf("%+v, %d calls", p, len(world.asked()))
				}
				return
			}
			if r := b.receipt(t, repeat); p.State != intent.Refused || len(world.asked()) != 1 || !strings.Contains(string(r.Decision), "eve may not") {
				t.Errorf("%+v, %d calls, receipt %s", p, len(world.asked()), r.Decision)
			}
		})
	}
}
