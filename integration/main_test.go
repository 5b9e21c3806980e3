package integration

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
)

// programs holds the folder of the binaries and the stack that tests share.
var programs string
var shared *stack

// atOnce is how many tests run at the same time. Most of them wait for timeouts of the
// protocol, so there are more than processors.
const atOnce = 10

func TestMain(m *testing.M) {
	if os.Getenv(matrixVariable) != "" {
		os.Exit(runMatrixWorker())
	}
	if os.Getenv(hostedVariable) != "" {
		os.Exit(runHostedWorker())
	}
	if tenant := os.Getenv(hostVariable); tenant != "" {
		os.Exit(runHost(tenant))
	}
	if share := os.Getenv(buyersVariable); share != "" {
		os.Exit(runBuyers(share))
	}
	flag.Parse()
	os.Exit(runAll(m))
}

func runAll(m *testing.M) int {
	if !parallelismChosen() {
		_ = flag.Set("test.parallel", strconv.Itoa(atOnce))
	}
	folder, cleanUp, err := binaries()
	if err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		return 1
	}
	defer cleanUp()
	programs = folder
	progress("starting PostgreSQL and Temporal for the tests")
	if shared, err = launchStack("--ephemeral", "--temporal-store", temporalStore()); err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		return 1
	}
	code := m.Run()
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "integration:", err)
		code = max(code, 1)
	}
	return code
}

// storeVariable says where the Temporal that the tests share keeps its state: "memory", which is
// the default, or "postgres", as in production.
const storeVariable = "WRIT_TEST_TEMPORAL_STORE"

func temporalStore() string { return cmp.Or(os.Getenv(storeVariable), "memory") }

func progress(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "== "+format+"\n", arguments...)
}

// parallelismChosen reports whether -parallel was given.
func parallelismChosen() bool {
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	return given
}

// binaries returns the folder of the programs under test, which it compiles unless
// WRIT_BIN_DIR names them.
func binaries() (folder string, cleanUp func(), err error) {
	if folder := os.Getenv("WRIT_BIN_DIR"); folder != "" {
		for _, name := range []string{"writ", "writ-dev", "writ-provider"} {
			if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
				return "", nil, fmt.Errorf("WRIT_BIN_DIR: %w; run `make build`", err)
			}
		}
		progress("testing the programs in %s", folder)
		return folder, func() {}, nil
	}
	folder, err = os.MkdirTemp("", "writ-integration-")
	if err != nil {
		return "", nil, err
	}
	cleanUp = func() { _ = os.RemoveAll(folder) }
	defer func() {
		if err != nil {
			cleanUp()
		}
	}()
	progress("compiling writ and writ-provider")
	if err := compile("..", folder, "./cmd/writ", "./cmd/writ-provider"); err != nil {
		return "", nil, err
	}
	progress("compiling writ-dev with the embedded Temporal server (five to ten minutes the first time)")
	if err := compile("../cmd/writ-dev", folder, "."); err != nil {
		return "", nil, err
	}
	return folder, cleanUp, nil
}

func compile(module, folder string, packages ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-buildvcs=false", "-o", folder + string(filepath.Separator)}, packages...)...)
	cmd.Dir = module
	cmd.Env = append(os.Environ(), "GOWORK=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("compile %v: %w\n%s", packages, err, out)
	}
	return nil
}

// program returns the path of a program under test.
func program(name string) string { return filepath.Join(programs, name) }
