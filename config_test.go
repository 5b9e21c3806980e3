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
