package activities_test

import (
	"reflect"
	"strings"
	"testing"

	"writ/activities"
	"writ/intent"
	"writ/outbox"
	"writ/tools"
)

func TestAnotherAuthorityIsRejectedAtEveryStepAndTheFirstOneStays(t *testing.T) {
	t.Parallel()
	provider := &provider{answers: []func() (tools.Result, error){applied}}
	b := start(t, nil, tools.New(keyed(), provider.invoke), tools.New(read(), provider.invoke))
	allowed := activities.Progress{Decision: []byte(`{"allow":true}`)}
	as := func(change func(*intent.EffectContext)) func(*activities.Request) {
		return func(r *activities.Request) {
			r.Context.Roles, r.Context.OnBehalfOf, r.Context.Service = []string{"clerk"}, []string{"ada"}, "shop"
			change(&r.Context)
		}
	}
	same := func(*intent.EffectContext) {}
	for _, tool := range []string{"payments.capture", "echo"} {
		key := func(r *activities.Request) { r.RequestKey = intent.RequestKey(tool) }
		first := ask(tool, key, as(same))
		b.drive(t, first)
		before, rows := b.row(t, first), b.rows(t)
		for differs, change := range map[string]func(*intent.EffectContext){
			"roles":        func(c *intent.EffectContext) { c.Roles = []string{"admin", "clerk"} },
			"on_behalf_of": func(c *intent.EffectContext) { c.OnBehalfOf = []string{"bob"} },
			"service":      func(c *intent.EffectContext) { c.Service = "" },
		} {
			in := ask(tool, key, as(change))
			ev := outbox.Evidence{Attempt: 1, Outcome: intent.Applied, MediaType: "text/plain", Result: []byte("x")}
			for step, p := range map[string]activities.Progress{
				"authorize": b.authorize(t, in),
				"persist":   b.persist(t, in, allowed),
				// A read is answered before the row is looked at.
				"journal": b.journal(t, activities.JournalInput{Input: in, Evidence: &ev, Decision: allowed.Decision}),
			} {
				if p.Rejection == nil || p.Rejection.Code != intent.CodeContextMismatch || p.Rejection.MayHaveRun || p.Version != 0 || !strings.Contains(p.Rejection.Message, "("+differs+")") {
					t.Errorf("%s, other %s, %s: %+v", tool, differs, step, p)
					continue
				}
				// Who asked in the first one's name is not told that it was rejected.
				if p.Rejection.Of != in.Request.Mark() || p.Rejection.Of == first.Request.Mark() {
					t.Errorf("%s, other %s, %s: the rejection is of %s", tool, differs, step, p.Rejection.Of)
				}
			}
		}
		again := ask(tool, key, as(func(c *intent.EffectContext) { c.Process, c.Run, c.Risk = "retry", "run-2", 0.5 }))
		if p := b.authorize(t, again); p.Rejection != nil || p.State != intent.Completed {
			t.Errorf("%s, from elsewhere: %+v", tool, p)
		}
		if after := b.row(t, first); after.Version != before.Version || !reflect.DeepEqual(after.EffectContext, before.EffectContext) || b.rows(t) != rows {
			t.Errorf("the first one changed: %+v", after)
		}
	}
	if n := len(provider.asked()); n != 2 {
		t.Errorf("%d requests were sent, want 2", n)
	}
}
