package doctor_test

import (
	"encoding/json"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"

	"writ/doctor"
	"writ/internal/pgtest"
	"writ/outbox"
	"writ/policy/cedar"
)

func TestMain(m *testing.M) { pgtest.Main(m) }

// short is the timeout of tests in which something hangs.
const short = 2 * time.Second

func store(t *testing.T, address string) *outbox.Store {
	t.Helper()
	cfg, err := outbox.ParseURL(address)
	if err != nil {
		t.Fatal(err)
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	return outbox.New(pool)
}

// migrated is a schema in which a worker has published a tool on task queue q-1.
func migrated(t *testing.T) string {
	t.Helper()
	address := pgtest.Schema(t)
	if err := outbox.Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	err := store(t, address).PublishSpecs(t.Context(), []outbox.Spec{{Name: "echo", JSON: []byte(`{"name":"echo","class":"read"}`), TaskQueue: "q-1"}})
	if err != nil {
		t.Fatal(err)
	}
	return address
}

func examine(t *testing.T, address string, c client.Client, timeout time.Duration) doctor.Report {
	t.Helper()
	report := doctor.Examine(t.Context(), doctor.Subject{
		Store: store(t, address), Temporal: c, Address: "temporal.example:7233", Namespace: "payments", Timeout: timeout,
	})
	if names := doctor.Names(); len(report.Checks) != len(names) {
		t.Errorf("the report has %d of %d checks", len(report.Checks), len(names))
	}
	for i, check := range report.Checks {
		if check.Name != doctor.Names()[i] {
			t.Errorf("check %d is %s", i, check.Name)
		}
	}
	return report
}

// expect fails unless exactly these checks have another status than ok.
func expect(t *testing.T, r doctor.Report, want map[string]doctor.Status) {
	t.Helper()
	for _, c := range r.Checks {
		status, ill := want[c.Name]
		if !ill {
			status = doctor.OK
		}
		if c.Status != status {
			t.Errorf("%+v, want %s", c, status)
		}
	}
}

func TestARealDatabaseAndAWorkerPassEveryCheck(t *testing.T) {
	t.Parallel()
	report := examine(t, migrated(t), newTemporal().serve(t), 0)
	expect(t, report, nil)
	if !report.OK {
		t.Error("the report is not ok")
	}
}

func TestAnEmptySchemaLeavesItsToolsUnknown(t *testing.T) {
	t.Parallel()
	expect(t, examine(t, pgtest.Schema(t), newTemporal().serve(t), 0), map[string]doctor.Status{
		"migrations": doctor.Fail, "privileges": doctor.Unknown, "workers": doctor.Unknown, "policies": doctor.Unknown, "holds": doctor.Unknown, "budgets": doctor.Unknown, "backlog": doctor.Unknown, "progress": doctor.Unknown, "timeline": doctor.Unknown,
	})
}

func TestPoliciesInForceThatDoNotFitThePublishedToolsAreFound(t *testing.T) {
	t.Parallel()
	address, c := migrated(t), newTemporal().serve(t)
	for text, status := range map[string]doctor.Status{
		`permit(principal, action, resource);`:                                           doctor.OK,
		`permit(principal, action, resource) when { resource == Tool::"gone" };`:         doctor.Warn,
		`permit(principal, action, resource) when { context.payload.amount == "1.00" };`: doctor.Fail,
	} {
		files := map[string]string{"a.cedar": text}
		set, err := cedar.FromFiles(files)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := store(t, address).PutPolicies(t.Context(), set.Digest().String(), files, outbox.Decider{Principal: "ada"}); err != nil {
			t.Fatal(err)
		}
		expect(t, examine(t, address, c, 0), map[string]doctor.Status{"policies": status})
	}
}

// What somebody wrote there by hand is what workers refuse everything for.
func TestPoliciesInForceThatAreNoTextsFail(t *testing.T) {
	t.Parallel()
	address, c := migrated(t), newTemporal().serve(t)
	pool, _ := pgtest.Pool(t, address)
	for i, files := range []string{"{", "[]", `{"a.cedar":1}`, "null", "{}", `{"a.cedar":"permit(principal"}`, `{"a.cedar":"permit(principal, action, resource);"}`, "\xff"} {
		const put = `
			WITH s AS (INSERT INTO policy_sets (digest, files, stored_at) VALUES (decode(lpad(to_hex($1::integer), 64, '0'), 'hex'), $2, now()) RETURNING digest)
			INSERT INTO policy_changes (number, digest, principal, roles, on_behalf_of, authentication_source, note, changed_at)
			SELECT $1, digest, 'eve', '{}', '{}', 'direct', '', now() FROM s`
		if _, err := pool.Exec(t.Context(), put, i+1, []byte(files)); err != nil {
			t.Fatal(err)
		}
		expect(t, examine(t, address, c, 0), map[string]doctor.Status{"policies": doctor.Fail})
	}
}

func TestSettingsOfTheConnectionAreFound(t *testing.T) {
	t.Parallel()
	address := migrated(t) + "&synchronous_commit=off&default_transaction_isolation=serializable&default_transaction_read_only=on"
	expect(t, examine(t, address, newTemporal().serve(t), 0), map[string]doctor.Status{
		"postgres_synchronous_commit": doctor.Warn, "postgres_isolation": doctor.Warn, "postgres_writable": doctor.Fail,
	})
}

func TestWhatStandsInBetweenIsFound(t *testing.T) {
	t.Parallel()
	address := pgtest.Pooler(t, migrated(t), pgtest.PoolerOptions{PerTransaction: true})
	c := newTemporal().serve(t)
	expect(t, examine(t, address, c, 0), map[string]doctor.Status{"postgres_pooler": doctor.Fail})
	expect(t, examine(t, address+"&default_query_exec_mode=cache_describe", c, 0), map[string]doctor.Status{"postgres_pooler": doctor.Warn})
}

func TestIllnessesOfTemporalAreFound(t *testing.T) {
	t.Parallel()
	address := migrated(t)
	for name, c := range map[string]struct {
		ill  func(s *temporal)
		want map[string]doctor.Status
	}{
		"another namespace": {
			func(s *temporal) { s.namespace = "other" },
			map[string]doctor.Status{"temporal_namespace": doctor.Fail, "temporal_search_attributes": doctor.Unknown, "workers": doctor.Unknown},
		},
		"an attribute that is a text": {
			func(s *temporal) { s.attributes["WritState"] = enumspb.INDEXED_VALUE_TYPE_TEXT },
			map[string]doctor.Status{"temporal_search_attributes": doctor.Fail},
		},
		"an attribute that is not there": {
			func(s *temporal) { delete(s.attributes, "WritTool") },
			map[string]doctor.Status{"temporal_search_attributes": doctor.Warn},
		},
		"no worker": {
			func(s *temporal) { s.workers = nil },
			map[string]doctor.Status{"workers": doctor.Warn},
		},
		"a worker that runs no activities": {
			func(s *temporal) { s.halfWorkers, s.workers = s.workers, nil },
			map[string]doctor.Status{"workers": doctor.Warn},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTemporal()
			c.ill(s)
			expect(t, examine(t, address, s.serve(t), 0), c.want)
		})
	}
}

func TestWhateverHangsIsGivenUp(t *testing.T) {
	t.Parallel()
	address := migrated(t)
	silent := silence(t)
	nothingOfPostgres := map[string]doctor.Status{"workers": doctor.Unknown, "policies": doctor.Unknown, "holds": doctor.Unknown, "budgets": doctor.Unknown, "backlog": doctor.Unknown, "progress": doctor.Unknown}
	for _, name := range doctor.Names() {
		if strings.HasPrefix(name, "postgres_") || name == "migrations" || name == "privileges" || name == "timeline" || name == "clock" {
			nothingOfPostgres[name] = doctor.Unknown
		}
	}
	nothingOfPostgres["postgres_reachable"] = doctor.Fail
	for name, c := range map[string]struct {
		address string
		hangs   string
		want    map[string]doctor.Status
	}{
		"PostgreSQL":           {"postgres://writ:hunter2@" + silent + "/writ?sslmode=disable", "", nothingOfPostgres},
		"Temporal":             {address, "GetSystemInfo", map[string]doctor.Status{"temporal_reachable": doctor.Fail, "temporal_namespace": doctor.Unknown, "temporal_search_attributes": doctor.Unknown, "workers": doctor.Unknown}},
		"its namespace":        {address, "DescribeNamespace", map[string]doctor.Status{"temporal_namespace": doctor.Fail}},
		"its operator service": {address, "ListSearchAttributes", map[string]doctor.Status{"temporal_search_attributes": doctor.Warn}},
		"its task queues":      {address, "DescribeTaskQueue", map[string]doctor.Status{"workers": doctor.Fail}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTemporal()
			s.hangs = map[string]bool{c.hangs: true}
			client := s.serve(t)
			began := time.Now()
			report := examine(t, c.address, client, short)
			expect(t, report, c.want)
			if took := time.Since(began); took > 20*short {
				t.Errorf("it took %s", took)
			}
			for _, check := range report.Checks {
				if check.Status == doctor.Fail && !strings.Contains(check.Found, "no answer within "+short.String()) {
					t.Errorf("it does not say that there was no answer: %+v", check)
				}
			}
			withoutPassword(t, report, "hunter2")
		})
	}
}

// silence is the address of a server that accepts connections and says nothing.
func silence(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

func TestNoPasswordIsInAReport(t *testing.T) {
	t.Parallel()
	address, err := url.Parse(migrated(t))
	if err != nil {
		t.Fatal(err)
	}
	password, _ := address.User.Password()
	withoutPassword(t, examine(t, address.String(), newTemporal().serve(t), 0), password)
	address.User = url.UserPassword(address.User.Username(), "hunter2")
	report := examine(t, address.String(), dial(t, "127.0.0.1:1"), 0)
	if failed := report.Failed(); len(failed) != 2 {
		t.Errorf("failed is %q", failed)
	}
	withoutPassword(t, report, "hunter2")
}

func withoutPassword(t *testing.T, report doctor.Report, password string) {
	t.Helper()
	document, err := json.Marshal(report)
	if err != nil {
		t.Fatal(err)
	}
	if password == "" || strings.Contains(string(document), password) {
		t.Errorf("the report holds the password %q: %s", password, document)
	}
}
