package sample

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"writ/tools"
	"writ/tools/effecthttp"
)

// Provider is the name of the sandbox provider in specs.
const Provider = "sandbox"

// The defaults of a Config.
const (
	// timeout bounds one request to the sandbox provider.
	timeout = 10 * time.Second
	// settleDelay is how long after a lease the sandbox's lookups are trusted. The sandbox
	// shows an effect at once, so this is for whatever is under way to it.
	settleDelay = 2 * time.Second
)

// Config says where the sandbox provider is, and what is promised of it. What differs from
// the defaults is another behaviour: workers of one database must agree on it.
type Config struct {
	// ProviderURL is its address, for example "http://127.0.0.1:7766". Required.
	ProviderURL string
	// Timeout bounds one request. Default 10 s.
	Timeout time.Duration
	// Retry is the retry policy of every tool. Default that of [tools.Spec].
	Retry tools.RetryPolicy
	// Key is what the keyed tools promise of the provider's keys. Remembers is forever by
	// default: the sandbox answers a known key from its ledger, unless it is told to forget.
	Key tools.KeyContract
	// Lookup is what the tools that can be looked up promise of that. SettleDelay is
	// 2 s by default.
	Lookup tools.LookupContract
}

// Tools returns all sample tools. The error is about the provider's address.
func Tools(cfg Config) ([]tools.Tool, error) {
	client, err := effecthttp.New(effecthttp.Config{BaseURL: cfg.ProviderURL})
	if err != nil {
		return nil, fmt.Errorf("the sandbox provider's address: %w", err)
	}
	at := func(path string) effecthttp.Request { return effecthttp.Request{Path: path, EffectID: "/id"} }

	capture := at("/v1/payments/capture")
	capture.Already = []string{"already_captured"}
	deletion := at("/v1/documents/delete")
	deletion.Already = []string{"document_not_found"}
	transfer := at("/v1/transfers/create")
	transfer.KeyHeader, transfer.ReferenceHeader = effecthttp.NoKey, "Client-Reference"
	message := at("/v1/notifications/send")
	message.KeyHeader = effecthttp.NoKey

	return []tools.Tool{
		askable{providerTool{client, cfg.keyed(captureSpec), capture, captureMembers}, effectsPath},
		askable{providerTool{client, cfg.keyed(refundSpec), at("/v1/payments/refund"), refundMembers}, effectsPath},
		askable{providerTool{client, cfg.keyed(deleteSpec), deletion, deleteMembers}, effectsPath},
		askable{providerTool{client, cfg.reconcilable(transferSpec), transfer, transferMembers}, transfersPath},
		providerTool{client, cfg.sent(sendSpec), message, sendMembers},
		providerTool{client, cfg.sent(newsletterSpec), message, sendMembers},
		Store(cfg), Purge(cfg), Echo(),
	}, nil
}

// sent returns the spec of a tool that nothing protects from being performed twice: one
// whose answer was lost is never sent again.
func (cfg Config) sent(s tools.Spec) tools.Spec {
	s.Provider, s.SideEffectful, s.Retryable = Provider, true, true
	s.Timeout, s.Retry = cmp.Or(cfg.Timeout, timeout), cfg.Retry
	return s
}

// reconcilable returns the spec of a tool whose provider can be asked what became of it.
func (cfg Config) reconcilable(s tools.Spec) tools.Spec {
	s = cfg.sent(s)
	s.Reconcilable, s.Lookup = true, cfg.Lookup
	s.Lookup.SettleDelay = cmp.Or(s.Lookup.SettleDelay, settleDelay)
	return s
}

// keyed returns the spec of a tool whose provider honours idempotency keys, and can be asked.
func (cfg Config) keyed(s tools.Spec) tools.Spec {
	s = cfg.reconcilable(s)
	s.Idempotent, s.Key = true, cfg.Key
	s.Key.Remembers = cmp.Or(s.Key.Remembers, tools.WindowForever)
	return s
}

// providerTool sends its payload to one endpoint of the provider.
type providerTool struct {
	client  *effecthttp.Client
	spec    tools.Spec
	request effecthttp.Request // without its body
	members members
}

func (t providerTool) Spec() tools.Spec { return t.spec }

// Validate refuses what the provider would refuse and the schema cannot say.
func (t providerTool) Validate(payload []byte) error { return t.members.checkTexts(payload) }

func (t providerTool) Invoke(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
	request := t.request
	request.Body = inv.Payload()
	answer, err := t.client.Do(ctx, inv, request)
	if err != nil {
		return tools.Result{}, err
	}
	return answer.Result()
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
