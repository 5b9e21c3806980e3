package chaos

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"
)

const (
	// DefaultWorkers is how many worker processes a run has.
	DefaultWorkers = 3
	// recoverers is how many processes run that only recover.
	recoverers = 2
	// DefaultRate is how many intents are asked for in a second: what two cores carry while
	// Temporal is down for a good part of the time.
	DefaultRate = 5.0
	// stopPatience bounds the stop of what was started.
	stopPatience = 2 * time.Minute
)

// Options say what a run does.
type Options struct {
	// Seed chooses the faults and the requests.
	Seed uint64
	// Length is how long faults happen and intents are asked for. The rest follows.
	Length time.Duration
	// Rate is how many intents are asked for in a second. Default: 5.
	Rate float64
	// Workers is how many worker processes run, beside two that only recover. Default: 3.
	Workers int
	// Writ, Provider and Self are the paths of the programs writ, writ-provider and writ-dev.
	Writ, Provider, Self string
	// Keep says that the folder of the run stays also when nothing was found.
	Keep bool
	// Progress is called with a short sentence now and then.
	Progress func(string)
}

func (o Options) withDefaults() Options {
	if o.Rate == 0 {
		o.Rate = DefaultRate
	}
	if o.Workers == 0 {
		o.Workers = DefaultWorkers
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// ErrInterrupted is the error of a run whose context ended; everything that was started has
// been stopped.
var ErrInterrupted = errors.New("the run was interrupted and has proven nothing: run it again")

// Run makes a world of its own, lets the faults of the seed happen to it, and judges what is
// left. The error is about the world; what was found is in the report. The folder with
// the logs and the books stays if there is an error or the verdict is not nil.
func Run(ctx context.Context, options Options) (Report, error) {
	options = options.withDefaults()
	folder, err := os.MkdirTemp("", "writ-chaos-")
	if err != nil {
		return Report{}, fmt.Errorf("make a folder for the run: %w", err)
	}
	if err := os.Chmod(folder, 0o755); err != nil { // PostgreSQL may run as another user and must get through
		return Report{}, fmt.Errorf("make a folder for the run: %w", err)
	}
	w := &world{options: options, folder: folder}
	report, err := w.run(ctx)
	stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopPatience)
	defer cancel()
	stopErr := w.stop(stopping)
	if ctx.Err() != nil {
		err = ErrInterrupted
	}
	report.Seed, report.Folder = options.Seed, folder
	err = errors.Join(err, stopErr)
	if err == nil && report.Verdict() == nil && !options.Keep {
		report.Folder = ""
		err = os.RemoveAll(folder)
	}
	if err != nil {
		err = fmt.Errorf("%w; the logs and books of the run are in %s", err, folder)
	}
	return report, err
}
