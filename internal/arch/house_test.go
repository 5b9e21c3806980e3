package arch

import (
	"path"
	"strings"
)

// floors is the house, from the ground up. A package may import packages of the floors
// below its own and of its own room, which is the folder listed here with everything in
// it; two rooms of one floor do not know each other.
var floors = [][]string{
	{"intent"},
	{"policy", "outbox", "receipts", "tools", "telemetry", "codec"},
	{"activities"},
	{"workflows"},
	{"recovery", "doctor"},
	{"."}, // package writ itself, not what is below its folder
	{"console", "api", "mcp"},
	{"cmd/writ", "cmd/writ-dev", "cmd/writ-provider"},
	{"integration", "examples", "build"},
}

// A cellar is an internal package: it stands beside the floors.
type cellar struct {
	// imports lists the folders of this repository that it may import.
	imports []string
	// users lists who may import it outside of tests.
	users []string
}

var cellars = map[string]cellar{
	"internal/arch":        {},
	"internal/invocation":  {imports: []string{"intent"}, users: []string{"tools", "activities"}},
	"internal/jsonpointer": {users: []string{"tools", "policy", "."}},
	"internal/killpoint":   {users: []string{"tools", "activities", "."}},
	"internal/panictext":   {users: []string{"tools", "activities", "policy"}},
	"internal/loopback":    {users: []string{"internal/postgres", "cmd/writ-dev"}},
	"internal/statedir":    {users: []string{"internal/postgres", "cmd/writ-dev", "cmd/writ-provider"}},
	"internal/child":       {users: []string{"internal/postgres", "cmd/writ-dev"}},
	"internal/postgres":    {imports: []string{"internal/child", "internal/loopback", "internal/statedir"}, users: []string{"internal/pgtest", "cmd/writ-dev"}},
	"internal/pgtest":      {imports: []string{"internal/postgres"}},
	"internal/otlptest":    {},
	"internal/intake":      {},
	// The judge of the others shares no code with them.
	"internal/sandbox": {users: []string{"cmd/writ-provider", "cmd/writ-dev"}},
}

// roomOf returns the listed folder that dir belongs to, or "" if it has no place.
func roomOf(dir string) string {
	if dir == "." {
		return "."
	}
	for at := dir; at != "."; at = path.Dir(at) {
		if _, ok := cellars[at]; ok {
			return at
		}
		if floorOf(at) >= 0 {
			return at
		}
	}
	return ""
}

// floorOf returns the number of the floor that lists room, counted from the ground, or -1.
func floorOf(room string) int {
	for number, rooms := range floors {
		for _, listed := range rooms {
			if listed == room {
				return number
			}
		}
	}
	return -1
}

// packagesWithPgx may import pgx outside of tests; all but the last two own the SQL as well.
var packagesWithPgx = []string{
	"outbox", "receipts", // the tables
	"internal/postgres", "internal/pgtest", "cmd/writ-dev", // clusters and databases, before there are tables
	".", "activities", // the pool and transactions, handed through
}

var packagesWithSQL = packagesWithPgx[:5]

// What a tool for effects in the outbox's own database is given: the transaction's type, and
// the samples that show how its SQL is written. Its rows are its own; intents and receipts
// stay with their packages.
var (
	filesWithPgx = []string{"tools/transact.go", "tools/sample/purge.go", "examples/documents/purge.go"}
	filesWithSQL = filesWithPgx[1:]
)

// impure lists what the pure floor must not import: everything that reaches the outside
// world, a clock or chance. An entry covers what is below it.
var impure = []string{
	"context", "crypto/rand", "database", "embed", "expvar", "io/fs", "io/ioutil", "log", "math/rand", "net", "os",
	"path/filepath", "plugin", "runtime", "sync", "syscall", "testing", "text/template", "unsafe",
}

// pureModules are the only modules outside the standard library that the pure floor uses.
var pureModules = []string{"github.com/go-json-experiment/json", "github.com/google/uuid"}

// impureCalls are functions of packages that are pure otherwise.
var impureCalls = map[string][]string{
	"time": {"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until", "LoadLocation", "Local"},
	"github.com/google/uuid": {
		"New", "NewString", "NewRandom", "NewRandomFromReader", "NewUUID", "NewV6", "NewV7", "NewV7FromReader", "NodeID", "SetRand",
	},
}

// temporalServer is what only cmd/writ-dev may import: whoever imports Writ compiles no
// Temporal server.
var temporalServer = []string{"go.temporal.io/server", "github.com/temporalio"}

// within reports whether name is one of the listed paths or below one.
func within(name string, listed []string) bool {
	for _, l := range listed {
		if name == l || strings.HasPrefix(name, l+"/") {
			return true
		}
	}
	return false
}

func contains(listed []string, name string) bool {
	for _, l := range listed {
		if l == name {
			return true
		}
	}
	return false
}
