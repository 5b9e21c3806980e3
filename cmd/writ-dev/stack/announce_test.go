package stack

import (
	"strings"
	"testing"
)

func TestTheBlockNamesEveryAddressAndConnectsAShell(t *testing.T) {
	t.Parallel()
	var block strings.Builder
	addresses := Addresses{
		DatabaseURL:       "postgres://writ:it's@127.0.0.1:5433/writ",
		TemporalAddress:   "127.0.0.1:7233",
		TemporalNamespace: "default",
		ProviderURL:       "http://127.0.0.1:7766",
		TaskQueue:         "writ",
		Worker:            true,
		DataDir:           "/var/lib/writ",
	}
	if err := addresses.Announce(&block); err != nil {
		t.Fatal(err)
	}
	const want = `
Writ is running; Ctrl-C stops it.

  PostgreSQL   postgres://writ:it's@127.0.0.1:5433/writ
  Temporal     127.0.0.1:7233, namespace default
  Temporal UI  not started
  Provider     http://127.0.0.1:7766
  Worker       hosts the sample tools on task queue writ
  Data         /var/lib/writ

In another terminal, for the writ command:

  export DATABASE_URL='postgres://writ:it'\''s@127.0.0.1:5433/writ'
  export TEMPORAL_ADDRESS='127.0.0.1:7233'
  export TEMPORAL_NAMESPACE='default'
  export WRIT_PROVIDER_URL='http://127.0.0.1:7766'
  export WRIT_TASK_QUEUE='writ'

`
	if block.String() != want {
		t.Errorf("got %s\nwant %s", &block, want)
	}
}
