package integration

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"os"

	"writ/tools"
	"writ/tools/effecthttp"
)

// canaryVariable is the address of a provider that answers in canaries. With it a hosted worker
// has the canary tools and logs everything.
const canaryVariable = "WRIT_TEST_CANARIES"

// Values that must not get out of their place. None is part of another.
const (
	canaryArgument      = "CANARY-argument-7f3a"
	canarySecret        = "CANARY-write-only-19bd"
	canaryResult        = "CANARY-result-c0d2"
	canaryHeader        = "CANARY-response-header-5e88"
	canaryBody          = "CANARY-error-body-a41f"
	canaryMessage       = "CANARY-provider-message-66d0"
	canaryPanic         = "CANARY-panic-value-d93c"
	canaryAuthorization = "CANARY-authorization-2b71"
)

// canaryPayload is what a caller of a canary tool says: the path to send it to.
type canaryPayload struct {
	Path   string `json:"path"`
	Card   string `json:"card"`
	Secret string `json:"secret,omitempty"`
}

// canarySchema takes no secret that is shorter than four digits, and no letters.
const canarySchema = `{"type":"object","properties":{"path":{"type":"string"},"card":{"type":"string"},
	"secret":{"type":"string","pattern":"^[0-9]{4}$","writeOnly":true}},"required":["path","card"]}`

// withCanaries adds the canary tools if there is an address of their provider.
func withCanaries(list []tools.Tool, address string) ([]tools.Tool, error) {
	if address == "" {
		return list, nil
	}
	slog.SetDefault(slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug})))
	sender, err := effecthttp.New(effecthttp.Config{BaseURL: address, Header: http.Header{"Authorization": {"Bearer " + canaryAuthorization}}})
	if err != nil {
		return nil, err
	}
	send := func(ctx context.Context, inv tools.Invocation) (tools.Result, error) {
		var said canaryPayload
		if err := inv.Decode(&said); err != nil {
			return tools.Result{}, tools.NotApplied(err).AsFinal()
		}
		if said.Path == "/panic" {
			panic(said.Card + canaryPanic)
		}
		answer, err := sender.Do(ctx, inv, effecthttp.Request{Path: said.Path, Body: inv.Payload()})
		if err != nil {
			return tools.Result{}, err
		}
		return answer.Result()
	}
	for _, spec := range []tools.Spec{
		{Name: "canary.keyed", SideEffectful: true, Idempotent: true},
		{Name: "canary.opaque", SideEffectful: true},
	} {
		spec.Timeout, spec.InputSchema = hostedTimeout, json.RawMessage(canarySchema)
		list = append(list, tools.New(spec, send))
	}
	return list, nil
}
