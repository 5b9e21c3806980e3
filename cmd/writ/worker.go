package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"writ"
	"writ/activities"
	"writ/intent"
	"writ/policy"
	"writ/recovery"
	"writ/tools"
	"writ/tools/sample"
)

// workerFlags are the flags of writ worker.
type workerFlags struct {
	taskQueue    string
	identity     string
	providerURL  string
	policies     string
	stored       bool
	development  bool
	tools        []string
	recoverEvery time.Duration
	dispatch     dispatchFlags
	stopGrace    time.Duration
	startWithin  time.Duration
	maxResult    int
	// breakerFailures is 0 for off, where the library's 0 is its default.
	breakerFailures int
}

func newWorkerCommand(p *program) *cobra.Command {
	var f workerFlags
	cmd := &cobra.Command{
		Use:   "worker",
		Short: "Host the sample tools and drive intents",
		Long: `Hosts the sample tools, publishes what they promise, runs them when they are asked for, and
starts again what stopped. The tools talk to the provider at --provider-url; without one only
echo is hosted. Your own tools are hosted by your own program, with writ.NewWorker.

It says on standard error when it is ready, with -o json on standard output:
{"ready":true,"identity":…,"pid":…,"task_queue":…,"tools":[…]}.

With --development it runs what nobody consented to or let leave, unless somebody said no, and says
so each time in its log and in the decision. It is for trying things out.

While PostgreSQL or Temporal is away it is not ready, says which of them is missing, and tries
again until they answer.

SIGINT or SIGTERM: it takes no more work, waits --stop-grace for running tools, and leaves
with 0. A second signal ends it at once, which is safe as well.`,
		Example: `  writ worker --provider-url http://127.0.0.1:7766
  writ worker --tools echo,payments.capture --provider-url http://127.0.0.1:7766 -o json`,
		Args:        none,
		Annotations: map[string]string{infoByDefault: ""},
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := noneEmpty(cmd.LocalNonPersistentFlags()); err != nil {
				return err
			}
			if !cmd.Flags().Changed("development") {
				var err error
				if f.development, err = developmentByEnvironment(); err != nil {
					return err
				}
			}
			return p.work(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.taskQueue, "task-queue", "", "Temporal task `queue` to poll (default: $WRIT_TASK_QUEUE, else "+writ.DefaultTaskQueue+")")
	flags.StringVar(&f.identity, "identity", "", "`name` of this process in claims and in the Temporal UI (default: pid@host)")
	flags.StringVar(&f.providerURL, "provider-url", "", "`URL` of the provider that the sample tools talk to (default: $WRIT_PROVIDER_URL)")
	flags.StringVar(&f.policies, "policies", "", "`folder` of Cedar policies that say who may run what (default: $WRIT_POLICIES, else everybody may run every tool that is hosted)")
	flags.BoolVar(&f.stored, "stored-policies", false, "follow the policies that writ policy put has put in force in PostgreSQL; while there are none, refuse everything")
	flags.BoolVar(&f.development, "development", false, "let run what nobody consented to or let leave, and say so each time; a recorded no stands (default: $WRIT_DEVELOPMENT, else not)")
	flags.StringSliceVar(&f.tools, "tools", nil, "`names` of the tools to host, with commas (default: all)")
	flags.DurationVar(&f.recoverEvery, "recover-every", recovery.DefaultInterval, "how often to look for intents that stopped; 0 never does, so that another worker must")
	f.dispatch.register(cmd)
	flags.DurationVar(&f.stopGrace, "stop-grace", 10*time.Second, "how long running tools are waited for at the end")
	flags.DurationVar(&f.startWithin, "start-within", 0, startWithinUsage)
	flags.IntVar(&f.maxResult, "max-result", activities.DefaultMaxResult, "how many `bytes` of a tool's answer are kept; of a larger one the beginning, with the size and digest of all")
	flags.IntVar(&f.breakerFailures, "breaker-failures", activities.DefaultBreakerFailures, "`number` of attempts in a row, within a minute, that a provider may leave unanswered before it is held; 0 never holds it")
	return cmd
}

// fromEnvironment fills in what no flag says.
func (f *workerFlags) fromEnvironment() {
	for _, setting := range []struct {
		value *string
		name  string
	}{{&f.taskQueue, "WRIT_TASK_QUEUE"}, {&f.providerURL, "WRIT_PROVIDER_URL"}, {&f.policies, "WRIT_POLICIES"}} {
		if *setting.value == "" {
			*setting.value = os.Getenv(setting.name)
		}
	}
}

// developmentByEnvironment reads the profile from WRIT_DEVELOPMENT. What is neither yes nor no is
// refused: a worker that was meant to be strict must not be the other because of a spelling.
func developmentByEnvironment() (bool, error) {
	text := os.Getenv("WRIT_DEVELOPMENT")
	if text == "" {
		return false, nil
	}
	on, err := strconv.ParseBool(text)
	if err != nil {
		return false, intent.Errorf(intent.CodeInvalidConfig, "WRIT_DEVELOPMENT is %.40q; say true or false", text)
	}
	return on, nil
}

func (p *program) work(ctx context.Context, f workerFlags) error {
	if f.recoverEvery < 0 || f.stopGrace <= 0 {
		return usage("--recover-every must not be negative, and --stop-grace must be longer than 0")
	}
	if f.startWithin < 0 {
		return usage("--start-within must not be negative; 0 waits until PostgreSQL and Temporal answer")
	}
	if err := f.dispatch.check(); err != nil {
		return err
	}
	if f.dispatch.every == 0 {
		f.dispatch.every = -1
	}
	if f.maxResult <= 0 {
		return usage("--max-result must be more than 0")
	}
	if f.recoverEvery == 0 {
		f.recoverEvery = -1
	}
	if f.breakerFailures < 0 {
		return usage("--breaker-failures must not be negative; 0 never holds a provider")
	}
	if f.breakerFailures == 0 {
		f.breakerFailures = -1
	}
	f.fromEnvironment()
	if f.stored && f.policies != "" {
		return usage("--stored-policies and --policies (or WRIT_POLICIES) are both given; choose one of them")
	}
	list, err := p.sampleTools(f)
	if err != nil {
		return err
	}
	cfg, err := p.config()
	if err != nil {
		return err
	}
	rules, err := hostPolicy(f.policies)
	if err != nil {
		return err
	}
	worker, err := writ.NewWorker(ctx, writ.WorkerConfig{
		Config: cfg, TaskQueue: f.taskQueue, Identity: f.identity, RecoverEvery: f.recoverEvery, StopGrace: f.stopGrace,
		DispatchEvery: f.dispatch.every, DispatchAtOnce: f.dispatch.atOnce,
		StartWithin: f.startWithin, MaxResult: f.maxResult, BreakerFailures: f.breakerFailures,
		Policy: rules, StoredPolicies: f.stored, Gates: policy.Gates{Development: f.development},
	}, list...)
	if err != nil {
		return err
	}
	return p.host(ctx, worker, readiness{Ready: true, Identity: worker.Identity(), PID: os.Getpid(), TaskQueue: worker.TaskQueue(), Tools: names(list), Development: f.development})
}

// hostPolicy reads the policies of a folder; nil if none is named.
func hostPolicy(folder string) (policy.Policy, error) {
	if folder == "" {
		return nil, nil
	}
	set, err := policyFiles(folder)
	if err != nil {
		return nil, err
	}
	return set, nil
}

// sampleTools returns the tools that the flags ask for.
func (p *program) sampleTools(f workerFlags) ([]tools.Tool, error) {
	list := []tools.Tool{sample.Echo()}
	if f.providerURL != "" {
		all, err := sample.Tools(sample.Config{ProviderURL: f.providerURL})
		if err != nil {
			return nil, intent.Errorf(intent.CodeInvalidConfig, "correct --provider-url or WRIT_PROVIDER_URL: %w", err)
		}
		list = all
	}
	for _, name := range f.tools {
		if !slices.Contains(names(list), name) {
			why := ""
			if f.providerURL == "" {
				why = " without --provider-url"
			}
			return nil, usage("there is no sample tool %q%s; choose from %s", name, why, strings.Join(names(list), ", "))
		}
	}
	if len(f.tools) > 0 {
		list = slices.DeleteFunc(list, func(t tools.Tool) bool { return !slices.Contains(f.tools, t.Spec().Name) })
	}
	if f.providerURL == "" {
		p.log.Info("no provider is known, so only echo is hosted; name one with --provider-url or WRIT_PROVIDER_URL")
	}
	return list, nil
}

func names(list []tools.Tool) []string {
	names := make([]string, len(list))
	for i, t := range list {
		names[i] = t.Spec().Name
	}
	return names
}

// readiness is what a worker says when it polls.
type readiness struct {
	Ready     bool     `json:"ready"`
	Identity  string   `json:"identity"`
	PID       int      `json:"pid"`
	TaskQueue string   `json:"task_queue"`
	Tools     []string `json:"tools"`
	// Development says that the worker is in the development profile.
	Development bool `json:"development,omitempty"`
}

// host runs the worker until ctx ends and says when it is ready.
func (p *program) host(ctx context.Context, worker *writ.Worker, r readiness) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	select {
	case err := <-ended:
		if ctx.Err() != nil {
			return nil // stopped before it was ready: there is nothing that failed
		}
		return err
	case <-worker.Ready():
	}
	if err := p.announce(r); err != nil {
		cancel() // nobody would ever learn that it is ready
		<-ended
		return err
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		p.log.Info("stopping: no more work is taken and running tools are waited for; a second signal ends at once")
		return <-ended
	}
}

func (p *program) announce(r readiness) error {
	profile := ""
	if r.Development {
		profile = ", in the development profile"
	}
	fmt.Fprintf(p.stderr, "writ: worker %s is ready on task queue %s with %s%s\n", r.Identity, r.TaskQueue, strings.Join(r.Tools, ", "), profile)
	return p.print(r, func(io.Writer) {})
}
