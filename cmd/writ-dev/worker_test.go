package main

import (
	"log/slog"
	"testing"

	"go.temporal.io/sdk/client"

	"writ"
	"writ/internal/sandbox"
)

func TestACaptureByTheWorkerInTheProcessIsKeptAcrossARestart(t *testing.T) {
	t.Parallel()
	dir := reachableDir(t)
	first := launch(t, nil, onFreePorts("--data-dir", dir, "--no-ui")...)
	before := capture(t, first)
	first.stop(t)

	second := launch(t, nil, onFreePorts("--data-dir", dir, "--no-ui")...)
	if after := capture(t, second); after != before {
		t.Errorf("the same request key gave another receipt after a restart:\n%s\n%s", before, after)
	}
	ledger, err := sandbox.NewClient(second.ProviderURL).Ledger(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(ledger) != 1 {
		t.Errorf("the provider performed %d effects, want 1", len(ledger))
	}
	second.stop(t)
}

func TestTheWorkerNeedsAProvider(t *testing.T) {
	t.Parallel()
	code, message := refusal(t, exitFailure, nil, "--ephemeral", "--temporal-store", "memory", "--no-ui", "--no-provider")
	if code != "provider_missing" {
		t.Errorf("got %s: %s", code, message)
	}
}

// capture executes one capture, always under the same request key, and
// returns its receipt.
func capture(t *testing.T, p *process) string {
	t.Helper()
	connection, err := writ.Dial(t.Context(), writ.Config{
		DatabaseURL: p.DatabaseURL,
		Temporal:    client.Options{HostPort: p.TemporalAddress, Namespace: p.TemporalNamespace},
		Logger:      slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	done, err := connection.Execute(t.Context(), writ.Request{
		Tool: "payments.capture", RequestKey: "order-1", Principal: "test",
		Payload: []byte(`{"payment_id":"pay_1","amount":"129.90","currency":"EUR"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	return string(done.Receipt)
}
