package writ

import (
	"testing"

	"writ/intent"
	"writ/tools"
)

func TestAConfigurationThatCannotWorkIsRefusedBeforeAnythingIsOpened(t *testing.T) {
	t.Parallel()
	bad := Config{DatabaseURL: "postgres://%zz"}
	if _, err := Dial(t.Context(), bad); intent.CodeOf(err) != intent.CodeInvalidConfig {
		t.Errorf("a client: %v", err)
	}
	if _, err := NewWorker(t.Context(), WorkerConfig{Config: bad}); intent.CodeOf(err) != intent.CodeInvalidConfig {
		t.Errorf("a worker: %v", err)
	}
	twice := tools.New(tools.Spec{Name: "echo"}, nil)
	if _, err := NewWorker(t.Context(), WorkerConfig{}, twice, twice); intent.CodeOf(err) != intent.CodeInvalidSpec {
		t.Errorf("a tool twice: %v", err)
	}
}

func TestNeitherServerIsNeededBeforeItIsUsed(t *testing.T) {
	t.Parallel()
	nowhere := Config{DatabaseURL: "postgres://writ@127.0.0.1:1/writ"}
	nowhere.Temporal.HostPort = "127.0.0.1:1"
	client, err := Dial(t.Context(), nowhere)
	if err != nil {
		t.Fatal(err)
	}
	client.Close()
}

func TestALimitThatCannotBeIsRefused(t *testing.T) {
	for _, limit := range []int{-1, maxMaxPayload + 1} {
		if _, err := Dial(t.Context(), Config{MaxPayload: limit}); intent.CodeOf(err) != intent.CodeInvalidConfig {
			t.Errorf("a payload of %d bytes: %v", limit, err)
		}
	}
	for _, limit := range []int{-1, maxMaxResult + 1} {
		if _, err := NewWorker(t.Context(), WorkerConfig{MaxResult: limit}); intent.CodeOf(err) != intent.CodeInvalidConfig {
			t.Errorf("a result of %d bytes: %v", limit, err)
		}
	}
	for text, want := range map[string]int{"": 0, "0": 0, "2097152": 2 << 20, "1MiB": -1, "-1": -1, "67108865": -1} {
		t.Setenv("WRIT_MAX_PAYLOAD", text)
		cfg, err := FromEnvironment()
		if refused := intent.CodeOf(err) == intent.CodeInvalidConfig; refused != (want < 0) || !refused && cfg.MaxPayload != want {
			t.Errorf("WRIT_MAX_PAYLOAD=%s: %d, %v", text, cfg.MaxPayload, err)
		}
	}
}
