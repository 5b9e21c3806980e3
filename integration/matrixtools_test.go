package integration

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"go.temporal.io/sdk/client"

	"writ"
	"writ/intent"
	"writ/tools"
	"writ/tools/sample"
)

// matrixVariable makes this test program the worker of the fault matrix: a process of its own
// that can be killed, with a tool for each class.
const matrixVariable = "WRIT_TEST_MATRIX_WORKER"

// matrixTimeout bounds an attempt. It must leave time for all cells of a point to meet, and
// what can only be looked up or parked waits for it after the worker has died.
const matrixTimeout = 25 * time.Second

// runMatrixWorker is the worker's main function.
func runMatrixWorker() int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	if err := hostMatrix(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func hostMatrix(ctx context.Context) error {
	list, err := matrixTools(os.Getenv("WRIT_PROVIDER_URL"))
	if err != nil {
		return err
	}
	worker, err := writ.NewWorker(ctx, writ.WorkerConfig{
		Config: writ.Config{
			DatabaseURL: os.Getenv("DATABASE_URL"),
			Temporal:    client.Options{HostPort: os.Getenv("TEMPORAL_ADDRESS"), Namespace: os.Getenv("TEMPORAL_NAMESPACE")},
		},
		TaskQueue: os.Getenv("WRIT_TASK_QUEUE"), RecoverEvery: time.Second,
		BreakerFailures: -1, // so many answers are lost here that it would hold the provider
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

// matrixPayload is the payload of a cell for every tool: what the sandbox's endpoints demand,
// and how a tool without a provider is to answer its first attempt.
type matrixPayload struct {
	PaymentID string `json:"payment_id"` // the cell's mark, as in the next two
	AccountID string `json:"account_id"`
	Recipient string `json:"recipient"`
	Amount    string `json:"amount"`
	Currency  string `json:"currency"`
	Body      string `json:"body"`

	Says  intent.Outcome `json:"says"`
	Final bool           `json:"final"`
}

// matrixTools are the tools of all classes.
func matrixTools(providerURL string) (list []tools.Tool, err error) {
	for _, c := range classes {
		tool, err := c.declared(c.tool, providerURL)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.tool, err)
		}
		list = append(list, tool)
	}
	return list, nil
}

// declaration makes a tool of the given name.
type declaration func(name, providerURL string) (tools.Tool, error)

// lookups says that the spec lets the engine look effects up.
const lookups = true

// captureTool captures payments under another key contract, with lookups or without.
func captureTool(contract tools.KeyContract, lookedUp bool) declaration {
	return func(name, providerURL string) (tools.Tool, error) {
		tool, err := redeclare("payments.capture", name, providerURL, contract)
		if err != nil || lookedUp {
			return tool, err
		}
		spec := tool.Spec()
		spec.Reconcilable, spec.Lookup = false, tools.LookupContract{}
		return tools.New(spec, tool.Invoke), nil
	}
}

// sampleTool is a sample tool as it is.
func sampleTool(sampled string) declaration {
	return func(name, providerURL string) (tools.Tool, error) {
		tool, err := redeclare(sampled, name, providerURL, tools.KeyContract{})
		if err == nil && !tool.Spec().Reconcilable {
			return tools.New(tool.Spec(), tool.Invoke), nil
		}
		return tool, err
	}
}

// redeclared is a sample tool with a spec of its own.
type redeclared struct {
	tools.Tool
	spec tools.Spec
}

func (r redeclared) Spec() tools.Spec { return r.spec }

func (r redeclared) Reconcile(ctx context.Context, inq tools.Inquiry) (tools.Finding, error) {
	reconciler, ok := r.Tool.(tools.Reconciler)
	if !ok {
		return tools.Finding{}, errors.New("the sample tool looks nothing up")
	}
	return reconciler.Reconcile(ctx, inq)
}

func redeclare(sampled, name, providerURL string, contract tools.KeyContract) (tools.Tool, error) {
	limits := matrixSpec(name)
	list, err := sample.Tools(sample.Config{
		ProviderURL: providerURL, Timeout: limits.Timeout, Retry: limits.Retry, Key: contract,
		// The sandbox shows an effect before it answers.
		Lookup: tools.LookupContract{SettleDelay: tools.Immediate},
	})
	if err != nil {
		return nil, err
	}
	for _, tool := range list {
		if spec := tool.Spec(); spec.Name == sampled {
			spec.Name, spec.InputSchema, spec.OutputSchema = name, nil, nil // one payload is for all of them
			return redeclared{tool, spec}, nil
		}
	}
	return nil, fmt.Errorf("there is no sample tool %s", sampled)
}

// matrixSpec has the limits of the matrix, and no effect.
func matrixSpec(name string) tools.Spec {
	return tools.Spec{
		Name: name, Retryable: true, Timeout: matrixTimeout,
		Retry: tools.RetryPolicy{InitialBackoff: 100 * time.Millisecond, MaxBackoff: time.Second},
	}
}

// readTool has no effect at all.
func readTool(name, _ string) (tools.Tool, error) {
	return tools.New(matrixSpec(name), answerFirst), nil
}

// transactionalTool has its effect in Writ's database.
func transactionalTool(name, _ string) (tools.Tool, error) {
	return tools.NewTransactional(matrixSpec(name), insertThenAnswer), nil
}

// doneAnswer is what a tool without a provider answers.
const doneAnswer = `{"done":true}`

// answerFirst answers the first attempt as the cell wants it and every later one with
// success.
func answerFirst(_ context.Context, inv tools.Invocation) (tools.Result, error) {
	var p matrixPayload
	if err := inv.Decode(&p); err != nil {
		return tools.Result{}, tools.NotApplied(err).AsFinal()
	}
	cause := errors.New("as the cell wants it")
	switch failure := tools.NotApplied(cause); {
	case inv.Attempt() > 1 || p.Says == intent.Applied:
		return tools.Result{MediaType: tools.MediaTypeJSON, Body: json.RawMessage(doneAnswer)}, nil
	case p.Says == intent.Unknown:
		return tools.Result{}, cause
	case p.Final:
		return tools.Result{}, failure.AsFinal()
	default:
		return tools.Result{}, failure
	}
}

// matrixTable is where the effects of the transactional tool happen.
const matrixTable = `CREATE TABLE matrix_effects (mark text NOT NULL)`

// insertThenAnswer makes its effect also where it then says that it has failed, so that the
// judge sees what is not rolled back.
func insertThenAnswer(ctx context.Context, tx tools.Tx, inv tools.Invocation) (tools.Result, error) {
	var p matrixPayload
	if err := inv.Decode(&p); err != nil {
		return tools.Result{}, tools.NotApplied(err).AsFinal()
	}
	if _, err := tx.Exec(ctx, `INSERT INTO matrix_effects (mark) VALUES ($1)`, p.PaymentID); err != nil {
		return tools.Result{}, err
	}
	return answerFirst(ctx, inv)
}
