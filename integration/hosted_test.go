package integration

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"writ"
	"writ/policy"
	"writ/telemetry"
	"writ/tools"
	"writ/tools/effecthttp"
	"writ/tools/sample"
)

// These variables make this test program a worker of its own, which can be frozen and killed,
// with the sample tools and the tools below.
const (
	hostedVariable = "WRIT_TEST_HOSTED_WORKER"
	// windowVariable is how long the provider is said to remember keys: a duration, or
	// "unknown". Default: forever.
	windowVariable = "WRIT_TEST_KEY_WINDOW"
	// forbiddenVariable names a file. While it exists, the policy says no; if policyFails is in it,
	// it fails.
	forbiddenVariable = "WRIT_TEST_FORBIDDEN"
	// gateVariable names a folder; see lateTransfer.
	gateVariable = "WRIT_TEST_GATE"
)

// hostedTimeout bounds an attempt of the hosted tools. The tests wait for the end of leases, so
// it is short.
const hostedTimeout = 3 * time.Second

// startHosted starts this test program as a worker and returns when it polls.
func (w *world) startHosted(t testing.TB, environment ...string) *process {
	t.Helper()
	path, common := w.hosted(t)
	p := start(t, "hosted worker", path, append(common, environment...))
	if _, err := p.readyLine(); err != nil {
		t.Fatal(err)
	}
	return p
}

// hosted returns the program and the environment of a hosted worker.
func (w *world) hosted(t testing.TB) (path string, environment []string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self, append(w.environment(), hostedVariable+"=1")
}

// runHostedWorker is the worker's main function.
func runHostedWorker() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := hostAll(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func hostAll(ctx context.Context) (err error) {
	window, err := readWindow(os.Getenv(windowVariable))
	if err != nil {
		return err
	}
	list, err := hostedTools(os.Getenv("WRIT_PROVIDER_URL"), window)
	if err != nil {
		return err
	}
	if list, err = withCanaries(list, os.Getenv(canaryVariable)); err != nil {
		return err
	}
	cfg, err := writ.FromEnvironment()
	if err != nil {
		return err
	}
	flush, err := telemetry.Setup(ctx, "writ")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, flush(context.WithoutCancel(ctx))) }()
	worker, err := writ.NewWorker(ctx, writ.WorkerConfig{
		Config: cfg, TaskQueue: os.Getenv("WRIT_TASK_QUEUE"), RecoverEvery: 500 * time.Millisecond,
		Policy: unlessForbidden{os.Getenv(forbiddenVariable)},
	}, list...)
	if err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- worker.Run(ctx) }()
	select {
	case <-worker.Ready():
		fmt.Println(`{"ready":true}`)
		return <-ended
	case err := <-ended:
		return err
	}
}

func hostedTools(providerURL string, window tools.Window) ([]tools.Tool, error) {
	list, err := sample.Tools(sample.Config{
		ProviderURL: providerURL, Timeout: hostedTimeout,
		Key: tools.KeyContract{Remembers: window}, Lookup: tools.LookupContract{SettleDelay: 500 * time.Millisecond},
	})
	if err != nil {
		return nil, err
	}
	sender, err := effecthttp.New(effecthttp.Config{BaseURL: providerURL})
	if err != nil {
		return nil, err
	}
	byName := map[string]tools.Tool{}
	for _, tool := range list {
		byName[tool.Spec().Name] = tool
	}
	return append(list,
		patientTool("patient.capture", providerURL+"/v1/payments/capture", tools.Spec{SideEffectful: true, Idempotent: true, Key: tools.KeyContract{Remembers: window}}),
		patientTool("patient.notify", providerURL+"/v1/notifications/send", tools.Spec{SideEffectful: true}),
		patientTool("patient.read", providerURL+"/v1/notifications/send", tools.Spec{}),
		lateTransfer{byName["transfers.create"].(tools.Reconciler), sender, os.Getenv(gateVariable)},
		killer("killer.keyed", tools.Spec{SideEffectful: true, Idempotent: true, Key: tools.KeyContract{Remembers: tools.WindowForever}}),
		killer("killer.opaque", tools.Spec{SideEffectful: true}),
		killer("killer.read", tools.Spec{}),
	), nil
}

func readWindow(text string) (tools.Window, error) {
	switch text {
	case "":
		return tools.WindowForever, nil
	case "unknown":
		return tools.WindowUnknown, nil
	}
	d, err := time.ParseDuration(text)
	return tools.Window(d), err
}

// unlessForbidden is a policy that says no, or fails, while its file exists.
type unlessForbidden struct{ file string }

func (unlessForbidden) Name() string { return "unless-forbidden" }

func (p unlessForbidden) Evaluate(context.Context, policy.Facts) (policy.Verdict, error) {
	text, err := os.ReadFile(p.file)
	if p.file == "" || errors.Is(err, os.ErrNotExist) {
		return policy.Verdict{Allow: true, Reason: "the file does not exist"}, nil
	}
	if string(text) == policyFails {
		return policy.Verdict{}, errors.New(policyFails)
	}
	return policy.Verdict{Reason: "the file exists"}, nil
}

const policyFails = "no answer"

// patientTool sends its payload and waits for the answer however long that takes, also when
// its worker has long given it up: what it says then is late evidence.
func patientTool(name, url string, spec tools.Spec) tools.Tool {
	spec.Name, spec.Timeout = name, hostedTimeout
	return tools.New(spec, func(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
		request, err := http.NewRequestWithContext(context.WithoutCancel(ctx), http.MethodPost, url, io.NopCloser(bytes.NewReader(inv.Payload())))
		if err != nil {
			return tools.Result{}, tools.NotApplied(err)
		}
		request.Header.Set("Idempotency-Key", inv.IdempotencyKey())
		answer, err := http.DefaultClient.Do(request)
		if err != nil {
			return tools.Result{}, tools.Unknown(err)
		}
		defer answer.Body.Close()
		body, err := io.ReadAll(answer.Body)
		if err != nil || answer.StatusCode >= 300 {
			return tools.Result{}, tools.Unknown(fmt.Errorf("%s: %s, %w", answer.Status, body, err))
		}
		var effect struct{ ID string }
		err = json.Unmarshal(body, &effect)
		return tools.Result{MediaType: tools.MediaTypeJSON, Body: body, EffectID: effect.ID}, err
	})
}

// lateTransfer is transfers.create, but that the first attempt says in a file of its folder that
// it was granted, and sends only when there is another. It does not care for its context.
type lateTransfer struct {
	tools.Reconciler
	sender *effecthttp.Client
	folder string
}

func (t lateTransfer) Spec() tools.Spec {
	spec := t.Reconciler.Spec()
	spec.Name = "late.transfer"
	return spec
}

func (t lateTransfer) Invoke(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
	if inv.Attempt() > 1 {
		return t.Reconciler.Invoke(ctx, inv)
	}
	if err := os.WriteFile(filepath.Join(t.folder, "granted"), nil, 0o600); err != nil {
		return tools.Result{}, tools.NotApplied(err)
	}
	poll := time.NewTicker(10 * time.Millisecond)
	defer poll.Stop()
	for !exists(filepath.Join(t.folder, "send")) {
		<-poll.C
	}
	return t.Reconciler.Invoke(context.WithoutCancel(ctx), inv)
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// killerBudget is how many attempts a killer may make.
const killerBudget = 3

// killer kills its own worker, each time.
func killer(name string, spec tools.Spec) tools.Tool {
	spec.Name, spec.Timeout, spec.Retryable = name, hostedTimeout, true
	spec.Retry = tools.RetryPolicy{MaxAttempts: killerBudget}
	return tools.New(spec, func(context.Context, tools.Invocation) (tools.Result, error) {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {} // the signal may take a moment
	})
}
