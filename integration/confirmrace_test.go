package integration

import (
	"strings"
	"testing"

	"writ/intent"
)

func TestOfTwentyWhoDecideAtOnceByTwoDoorsOneDoesAndEachOtherIsToldWho(t *testing.T) {
	t.Parallel()
	for name, deny := range map[string]func(n int) bool{
		"all confirm": func(int) bool { return false },
		"half deny":   func(n int) bool { return n/2%2 == 0 }, // by both doors
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t).confirming(t)
			w.startWorker(t)
			id := w.awaiting(t, forOne, requestKey)
			voices := w.decideAtOnce(t, id, 20, deny)
			var first *voice
			for i := range voices {
				if voices[i].taken && first != nil {
					t.Errorf("%s and %s have both decided", first.who, voices[i].who)
				} else if voices[i].taken {
					first = &voices[i]
				}
			}
			if first == nil {
				t.Fatalf("nobody has decided: %+v", voices)
			}
			said := first.who + " confirmed it"
			if first.verb == "deny" {
				said = first.who + " denied it"
			}
			for _, v := range voices {
				if !v.taken && (v.code != intent.CodeNotAwaiting || !strings.Contains(v.message, said)) {
					t.Errorf("%s wants to %s and is told %s: %s; want that %s", v.who, v.verb, v.code, v.message, said)
				}
			}
			if first.verb == "confirm" {
				w.confirmed(t, id, first.who)
				return
			}
			if r := w.watched(t, id).receipt(t, intent.Refused, intent.NotApplied); len(r.Decisions) != 1 || r.Decisions[0].Principal != first.who {
				t.Errorf("%+v", r.Decisions)
			}
			w.provider.effects(t, 0)
		})
	}
}

func TestOfTwentyWhoConfirmAtOnceWhatTwoMustTwoCount(t *testing.T) {
	t.Parallel()
	w := newWorld(t).confirming(t)
	w.startWorker(t)
	id := w.awaiting(t, forTwo, requestKey)
	var taken []string
	for _, v := range w.decideAtOnce(t, id, 20, func(int) bool { return false }) {
		switch {
		case v.taken:
			taken = append(taken, v.who)
		case v.code != intent.CodeNotAwaiting || strings.Count(v.message, "confirmed it") != 2:
			t.Errorf("%s is told %s: %s", v.who, v.code, v.message)
		}
	}
	if len(taken) != 2 {
		t.Fatalf("taken were those of %v", taken)
	}
	r := w.watched(t, id).completed(t)
	w.confirmed(t, id, r.Decisions[0].Principal, r.Decisions[1].Principal)
	for _, d := range r.Decisions {
		if d.Principal != taken[0] && d.Principal != taken[1] {
			t.Errorf("the receipt names %s, and those were taken: %v", d.Principal, taken)
		}
	}
}
