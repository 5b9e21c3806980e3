package chaos

import (
	"fmt"
	"io"
	"math/rand/v2"
	"time"
)

const (
	// leastPause is the time from one fault to the next, at least.
	leastPause = time.Second
	// mostPauseAtFirst is that time at most while the first ones come, one of each kind: a
	// minute has them all.
	mostPauseAtFirst = 3 * time.Second
	// mostPause is that time at most afterwards, so that the intents have a little peace, too.
	mostPause = 5 * time.Second
	// calm is how long nothing happens at first, so that the first faults meet open intents.
	calm = 3 * time.Second
	// streamSchedule and streamLoad are the seed's streams, so that a change of one draw
	// does not change all others.
	streamSchedule = 1
	streamLoad     = 2
)

// Event is one fault of the schedule.
type Event struct {
	At   time.Duration // from the start
	Kind Kind
	For  time.Duration // 0 for what has no duration of its own
	// Draw chooses what the kind leaves open: which worker, which workflow, how many answers.
	Draw uint32
}

// Schedule draws the faults of a run of that length. The first ones are one of each kind, in
// an order of the seed's; then each kind comes as often as its share.
func Schedule(seed uint64, length time.Duration) []Event {
	random := rand.New(rand.NewPCG(seed, streamSchedule))
	deck := shuffled(random, func(share) int { return 1 })
	most := mostPauseAtFirst
	var events []Event
	for at := calm; at < length; at += pause(random, most) {
		if len(deck) == 0 {
			deck = shuffled(random, func(s share) int { return s.weight })
			most = mostPause
		}
		drawn := deck[0]
		deck = deck[1:]
		event := Event{At: at, Kind: drawn.kind, For: drawn.least, Draw: random.Uint32()}
		if drawn.most > drawn.least {
			event.For += time.Duration(random.Int64N(int64(drawn.most - drawn.least))).Truncate(time.Millisecond)
		}
		events = append(events, event)
	}
	return events
}

func pause(random *rand.Rand, most time.Duration) time.Duration {
	return leastPause + time.Duration(random.Int64N(int64(most-leastPause))).Truncate(time.Millisecond)
}

func shuffled(random *rand.Rand, count func(share) int) []share {
	var deck []share
	for _, s := range shares {
		for range count(s) {
			deck = append(deck, s)
		}
	}
	random.Shuffle(len(deck), func(i, j int) { deck[i], deck[j] = deck[j], deck[i] })
	return deck
}

// PrintSchedule writes the events, one a line.
func PrintSchedule(output io.Writer, events []Event) error {
	for _, e := range events {
		lasts := ""
		if e.For > 0 {
			lasts = fmt.Sprintf("for %.1f s", e.For.Seconds())
		}
		if _, err := fmt.Fprintf(output, "%7.1f s  %-22s %s\n", e.At.Seconds(), e.Kind, lasts); err != nil {
			return err
		}
	}
	return nil
}
