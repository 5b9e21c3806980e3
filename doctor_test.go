package writ_test

import (
	"context"
	"log/slog"
	"testing"

	"go.temporal.io/sdk/client"

	"writ"
	"writ/intent"
)

func TestTheDoctorReportsWhatIsUnreachableAndRefusesWhatCannotBeUsed(t *testing.T) {
	t.Parallel()
	cfg := writ.Config{
		DatabaseURL: "postgres://writ@127.0.0.1:1/writ", Logger: slog.New(slog.DiscardHandler),
		Temporal: client.Options{HostPort: "127.0.0.1:1"},
	}
	report, err := writ.Doctor(t.Context(), cfg)
	if err != nil || report.OK || len(report.Failed()) != 2 {
		t.Errorf("%+v, %v", report, err)
	}

	stopped, stop := context.WithCancel(t.Context())
	stop()
	if report, err = writ.Doctor(stopped, cfg); intent.CodeOf(err) != intent.CodeInterrupted || len(report.Checks) != 0 {
		t.Errorf("stopped: %+v, %v", report, err)
	}

	cfg.Temporal.HostPort = "nonsense"
	if _, err = writ.Doctor(t.Context(), cfg); intent.CodeOf(err) != intent.CodeInvalidConfig {
		t.Errorf("an address that is none: %v", err)
	}
}
