package stack

import (
	"log/slog"
	"os"
	"slices"
	"strings"

	"writ"
)

// TemporalStore says where Temporal keeps its state.
type TemporalStore string

const (
	// TemporalInPostgres keeps it in databases of its own on the same server, as in production.
	TemporalInPostgres TemporalStore = "postgres"
	// TemporalInMemory loses it when the stack stops. Writ's own records stay,
	// and its recovery starts the workflows of open intents again.
	TemporalInMemory TemporalStore = "memory"
)

// The ports on 127.0.0.1 that a stack on a data folder takes when nothing else
// is said.
const (
	DefaultTemporalPort = 7233
	DefaultUIPort       = 8233
	DefaultProviderPort = 7766
)

// Namespace is Temporal's namespace that the stack registers and uses.
const Namespace = "default"

// Options say what is started and where. A port of 0 takes a free one.
type Options struct {
	// DataDir keeps the state. Empty if Ephemeral.
	DataDir string
	// Ephemeral keeps the state in temporary folders that Stop removes.
	Ephemeral bool
	// DatabaseURL is a PostgreSQL to use; empty starts a private cluster.
	DatabaseURL string
	// TemporalStore defaults to TemporalInPostgres.
	TemporalStore TemporalStore

	PostgresPort int // of the private cluster
	TemporalPort int
	UIPort       int
	ProviderPort int

	NoUI       bool
	NoProvider bool
	NoWorker   bool

	// ProviderURL is the provider that the worker calls with NoProvider.
	ProviderURL string
	// TaskQueue is the worker's; it defaults to writ.DefaultTaskQueue.
	TaskQueue string

	// Logger receives what the worker and the provider log; nil discards it.
	Logger *slog.Logger
	// TemporalLogLevel is debug, info, warn or error; empty means warn.
	TemporalLogLevel string
	// Progress is called before each step with a short sentence; nil for none.
	Progress func(string)
}

func (o Options) withDefaults() Options {
	if o.TemporalStore == "" {
		o.TemporalStore = TemporalInPostgres
	}
	if o.TaskQueue == "" {
		o.TaskQueue = writ.DefaultTaskQueue
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// Addresses say where the parts of a running stack are. Parts that were not
// started have no address.
type Addresses struct {
	DatabaseURL       string `json:"database_url"`
	TemporalAddress   string `json:"temporal_address"`
	TemporalNamespace string `json:"temporal_namespace"`
	UIURL             string `json:"ui_url,omitempty"`
	ProviderURL       string `json:"provider_url,omitempty"`
	TaskQueue         string `json:"task_queue"`
	Worker            bool   `json:"worker"`
	DataDir           string `json:"data_dir"`
}

// Variable is one setting of the environment.
type Variable struct{ Name, Value string }

// Environment returns the variables that connect Writ's commands to the stack.
func (a Addresses) Environment() []Variable {
	variables := []Variable{
		{"DATABASE_URL", a.DatabaseURL},
		{"TEMPORAL_ADDRESS", a.TemporalAddress},
		{"TEMPORAL_NAMESPACE", a.TemporalNamespace},
	}
	if a.ProviderURL != "" {
		variables = append(variables, Variable{"WRIT_PROVIDER_URL", a.ProviderURL})
	}
	return append(variables, Variable{"WRIT_TASK_QUEUE", a.TaskQueue})
}

// ChildEnvironment returns this process's environment with the stack's addresses
// and nothing else that says where PostgreSQL and Temporal are: a person's own
// profile for another Temporal must not lead a child astray.
func (a Addresses) ChildEnvironment() []string {
	kept := slices.DeleteFunc(os.Environ(), func(variable string) bool {
		return strings.HasPrefix(variable, "TEMPORAL_") || strings.HasPrefix(variable, "PG")
	})
	kept = append(kept, "TEMPORAL_CONFIG_FILE="+os.DevNull)
	for _, variable := range a.Environment() {
		kept = append(kept, variable.Name+"="+variable.Value)
	}
	return kept
}
