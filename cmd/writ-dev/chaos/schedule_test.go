package chaos

import (
	"reflect"
	"testing"
	"time"
)

func TestTheSameSeedGivesTheSameFaultsAtTheSameTimes(t *testing.T) {
	t.Parallel()
	first := Schedule(7, 10*time.Minute)
	if again := Schedule(7, 10*time.Minute); !reflect.DeepEqual(first, again) {
		t.Error("one seed gave two schedules")
	}
	if other := Schedule(8, 10*time.Minute); reflect.DeepEqual(first, other) {
		t.Error("two seeds gave one schedule")
	}
	for n := range 50 {
		if !reflect.DeepEqual(orderOf(7, n), orderOf(7, n)) {
			t.Errorf("request %d of one seed is two requests", n)
		}
	}
}

func TestAFaultComesAtLeastEveryElevenSecondsAndEveryKindInAMinuteAndAQuarter(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		const length = 10 * time.Minute
		seen, last := map[Kind]time.Duration{}, time.Duration(0)
		events := Schedule(seed, length)
		for _, e := range events {
			if e.At-last > 11*time.Second || e.At <= last {
				t.Errorf("seed %d: a fault at %s comes after one at %s", seed, e.At, last)
			}
			if _, was := seen[e.Kind]; !was {
				seen[e.Kind] = e.At
			}
			last = e.At
		}
		if length-last > 11*time.Second {
			t.Errorf("seed %d: %d faults, the last one at %s", seed, len(events), last)
		}
		for _, s := range shares {
			if at, was := seen[s.kind]; !was || at > 75*time.Second {
				t.Errorf("seed %d: %s comes first at %s (%t)", seed, s.kind, at, was)
			}
		}
	}
}

func TestTenMinutesHaveWellOverAHundredFaults(t *testing.T) {
	t.Parallel()
	for seed := range uint64(20) {
		if events := Schedule(seed, 10*time.Minute); len(events) < 150 {
			t.Errorf("seed %d: only %d faults", seed, len(events))
		}
	}
}

func TestTheFirstMinuteOfTheSeedOfEveryTestRunHasEveryKind(t *testing.T) {
	t.Parallel()
	seen := map[Kind]bool{}
	for _, e := range Schedule(1, time.Minute) {
		seen[e.Kind] = true
	}
	for _, s := range shares {
		if !seen[s.kind] {
			t.Errorf("%s does not come", s.kind)
		}
	}
}

func TestFaultsLastAsLongAsTheirShareSays(t *testing.T) {
	t.Parallel()
	of := map[Kind]share{}
	for _, s := range shares {
		of[s.kind] = s
	}
	for _, e := range Schedule(1, time.Hour) {
		if s := of[e.Kind]; e.For < s.least || e.For > s.most {
			t.Errorf("%s lasts %s, want %s to %s", e.Kind, e.For, s.least, s.most)
		}
	}
}

func TestTheLoadHasEveryToolAndNoTwoRequestsShareAMark(t *testing.T) {
	t.Parallel()
	tools, marks, waiting, confirmations := map[string]int{}, map[string]bool{}, 0, map[int]int{}
	const many = 500
	for n := 1; n <= many; n++ {
		o := orderOf(3, n)
		tools[o.request.Tool]++
		confirmations[o.confirmations]++
		marks[o.mark] = true
		if o.waits {
			waiting++
		}
		if err := o.request.Check(); err != nil {
			t.Errorf("%+v: %v", o.request, err)
		}
	}
	known := map[string]bool{}
	for _, p := range portions {
		known[p.tool] = true
	}
	if len(tools) != len(known) || len(marks) != many || waiting == 0 || waiting == many {
		t.Errorf("%d tools, %d marks, %d wait", len(tools), len(marks), waiting)
	}
	if confirmations[1] == 0 || confirmations[2] == 0 || confirmations[0] < many/2 {
		t.Errorf("so many wait for so many people: %v", confirmations)
	}
}
