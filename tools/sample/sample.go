package sample

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"writ/tools"
	"writ/tools/effecthttp"
)

// Provider is the name of the sandbox provider in specs.
const Provider = "sandbox"

// timeout bounds one request to the sandbox provider.
const timeout = 10 * time.Second

// Config says where the sandbox provider is.
type Config struct {
	// ProviderURL is its address, for example "http://127.0.0.1:7766". Required.
	ProviderURL string
}

// Tools returns all sample tools. The error is about the provider's address.
func Tools(cfg Config) ([]tools.Tool, error) {
	client, err := effecthttp.New(effecthttp.Config{BaseURL: cfg.ProviderURL})
	if err != nil {
		return nil, fmt.Errorf("the sandbox provider's address: %w", err)
	}
	return []tools.Tool{
		providerTool{client: client, spec: captureSpec, path: "/v1/payments/capture", members: captureMembers},
		providerTool{client: client, spec: refundSpec, path: "/v1/payments/refund", members: refundMembers},
		providerTool{client: client, spec: deleteSpec, path: "/v1/documents/delete", members: deleteMembers},
		providerTool{client: client, spec: sendSpec, path: "/v1/notifications/send", keyHeader: effecthttp.NoKey, members: sendMembers},
		Echo(),
	}, nil
}

// providerTool sends its payload to one endpoint of the provider.
type providerTool struct {
	client    *effecthttp.Client
	spec      tools.Spec
	path      string
	keyHeader string
	members   members
}

func (t providerTool) Spec() tools.Spec { return t.spec }

// Validate refuses what the provider would refuse and the schema cannot say.
func (t providerTool) Validate(payload []byte) error { return t.members.checkTexts(payload) }

func (t providerTool) Invoke(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
	answer, err := t.client.Do(ctx, inv, effecthttp.Request{Path: t.path, Body: inv.Payload(), KeyHeader: t.keyHeader})
	if err != nil {
		return tools.Result{}, err
	}
	return answer.Result()
}

// keyed is the behaviour of the tools whose provider honours idempotency keys. An output
// of nil promises nothing.
func keyed(name, category, description string, input, output json.RawMessage) tools.Spec {
	return tools.Spec{
		Name: name, Category: category, Description: description, Provider: Provider,
		SideEffectful: true, Idempotent: true, Retryable: true, Timeout: timeout,
		// The sandbox answers a known key from its ledger, which it never forgets.
		Key:         tools.KeyContract{Remembers: tools.WindowForever},
		InputSchema: input, OutputSchema: output,
	}
}

// Echo returns the tool that answers with its payload.
func Echo() tools.Tool {
	spec := tools.Spec{
		Name: "echo", Category: "diagnostics", Description: "Answer with the payload. Touches nothing.",
		Retryable: true, Timeout: timeout, InputSchema: json.RawMessage(`{"type":"object"}`),
	}
	return tools.New(spec, func(_ context.Context, inv tools.Invocation) (tools.Result, error) {
		return tools.Result{MediaType: tools.MediaTypeJSON, Body: inv.Payload()}, nil
	})
}
