package chaos

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"writ"
	"writ/cmd/writ-dev/chaos/check"
)

// sayEvery is how often the run says how far it is.
const sayEvery = 15 * time.Second

// run lets the faults happen and judges what is left.
func (w *world) run(ctx context.Context) (Report, error) {
	if err := w.start(ctx); err != nil {
		return Report{}, err
	}
	if err := w.storePurged(ctx); err != nil {
		return Report{}, err
	}
	events := Schedule(w.options.Seed, w.options.Length)
	if err := w.writeSchedule(events); err != nil {
		return Report{}, err
	}
	evidence := check.Evidence{Seen: map[check.ReceiptID]string{}}
	missed, err := w.disturb(ctx, events, &evidence)
	if err != nil {
		return Report{}, err
	}
	if err := w.collect(ctx, &evidence); err != nil {
		return Report{}, err
	}
	report := Report{Length: w.options.Length, Faults: count(evidence.Faults), Missed: missed, Result: check.Judge(evidence)}
	return report, w.keepEvidence(evidence, report)
}

// storePurged stores the documents that the load deletes, a few more than it can ask for.
func (w *world) storePurged(ctx context.Context) error {
	const spare = 100
	var ids []string
	for n := range int(w.options.Length.Seconds()*w.options.Rate) + spare {
		if o := orderOf(w.options.Seed, n); o.request.Tool == purgeTool {
			ids = append(ids, o.mark)
		}
	}
	return w.database.storeDocuments(ctx, writ.DefaultTenant, ids)
}

func (w *world) writeSchedule(events []Event) error {
	var text strings.Builder
	if err := PrintSchedule(&text, events); err != nil {
		return err
	}
	w.options.Progress(fmt.Sprintf("seed %d: %d faults in %s\n%s", w.options.Seed, len(events), w.options.Length, &text))
	return os.WriteFile(filepath.Join(w.folder, "schedule.txt"), []byte(text.String()), 0o600)
}

// disturb asks for the load while the faults happen, and returns when everything has come to
// rest, with the faults that could not be made.
func (w *world) disturb(ctx context.Context, events []Event, evidence *check.Evidence) (missed []Missed, err error) {
	ctx, cancel := context.WithCancel(ctx)
	asking, stopAsking := context.WithTimeout(ctx, w.options.Length)
	defer stopAsking()
	load := newSubmission(w.client, w.options.Seed)
	var background sync.WaitGroup
	defer background.Wait()
	defer cancel() // before the wait, which would have no end else
	background.Go(func() { load.run(ctx, asking, w.options.Rate) })
	background.Go(func() { w.confirmAll(ctx) })
	background.Go(func() { w.watch(ctx, load, evidence.Seen) })

	evidence.Faults, missed = w.strikeAll(ctx, events)
	<-asking.Done()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	w.options.Progress("the faults are over; waiting until everything has come to rest…")
	if err := w.provider.heal(ctx); err != nil {
		return nil, err
	}
	resting, stopResting := context.WithTimeout(ctx, restPatience)
	defer stopResting()
	w.awaitRest(resting, load)
	cancel()
	evidence.Asked = load.await()
	return missed, nil
}

// strikeAll lets every fault happen at its time and returns when all are over.
func (w *world) strikeAll(ctx context.Context, events []Event) (struck []check.Fault, missed []Missed) {
	var striking sync.WaitGroup
	var mutex sync.Mutex
	start := time.Now()
	for _, e := range events {
		wait(ctx, time.Until(start.Add(e.At)))
		if ctx.Err() != nil {
			break
		}
		striking.Go(func() {
			began := time.Now()
			err := w.strike(ctx, e, func() { began = time.Now() })
			mutex.Lock()
			defer mutex.Unlock()
			if err != nil {
				missed = append(missed, Missed{Kind: e.Kind, At: e.At, Why: err.Error()})
				return
			}
			struck = append(struck, check.Fault{Kind: string(e.Kind), Began: began, Ended: time.Now()})
		})
	}
	striking.Wait()
	slices.SortFunc(struck, func(a, b check.Fault) int { return a.Began.Compare(b.Began) })
	return struck, missed
}

// watch says how far the run is, and reads the receipts and the provider's requests as they
// are written.
func (w *world) watch(ctx context.Context, load *submission, seen map[check.ReceiptID]string) {
	say, collect := time.NewTicker(sayEvery), time.NewTicker(collectEvery)
	defer say.Stop()
	defer collect.Stop()
	for {
		select {
		case <-say.C:
			asked, answered := load.progress()
			w.options.Progress(fmt.Sprintf("%d asked for, %d answered, %s", asked, answered, w.describeOpen(ctx)))
		case <-collect.C:
			// What fails now, because PostgreSQL is away, is read the next time.
			if now, err := w.receiptDigests(ctx); err == nil {
				for id, digest := range now {
					if _, known := seen[id]; !known {
						seen[id] = digest
					}
				}
			}
			if err := w.provider.collect(ctx); err != nil && ctx.Err() == nil {
				w.options.Progress(err.Error())
			}
		case <-ctx.Done():
			return
		}
	}
}
