package doctor

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/api/serviceerror"

	"writ/intent"
	"writ/outbox"
	"writ/policy/cedar"
	"writ/workflows"
)

// healthy are the facts of an installation that lacks nothing.
func healthy() facts {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	f := facts{address: "temporal.example:7233", namespace: "payments", now: now}
	f.server.value = outbox.Server{
		Address: "db.example:5432", Database: "writ", Role: `"till-7"`, Version: 170004, VersionText: "17.4", Encoding: "UTF8",
		Fsync: true, FullPageWrites: true, SynchronousCommit: "on", Isolation: "read committed",
		SynchronousNames: "ANY 1 (*)", Standbys: 2, Synchronous: 1, Connections: 30, Admitted: 97, Room: 67, PoolSize: 4,
	}
	f.schema.value = outbox.Schema{Name: "public", SearchPath: `"$user", public`, Applied: 2}
	f.times.value.Current = outbox.Timeline{System: 7400000000000000001, Number: 3}
	f.times.value.Trusted = f.times.value.Current
	f.clock.value = outbox.Clock{Ahead: 20 * time.Millisecond, Within: 2 * time.Millisecond}
	f.pooler.value = outbox.Pooler{Mode: outbox.Direct, NamesStatements: true}
	f.version.value = "1.32.1"
	f.names.value = workflows.Namespace{Usable: true, Retention: 72 * time.Hour, Updates: true}
	f.queues.value = []outbox.Queue{{Name: "writ", Tools: []string{"echo"}}, {Name: "helpdesk", Tools: []string{"tickets.close", "tickets.open"}}}
	f.polled.value = map[string]workflows.Polled{
		"writ":     {Workers: []string{"1@a", "2@b"}, Last: now.Add(-70 * time.Second)},
		"helpdesk": {Workers: []string{"3@a"}, Last: now.Add(time.Second)},
	}
	return f
}

// inForce are policies that ada has put in force, and published tools of these names.
func inForce(t *testing.T, text string, names ...string) outbox.PoliciesInForce {
	t.Helper()
	files := map[string]string{"a.cedar": text}
	set, err := cedar.FromFiles(files)
	if err != nil {
		t.Fatal(err)
	}
	found := outbox.PoliciesInForce{Files: files, PolicyChange: outbox.PolicyChange{
		Number: 1, Digest: set.Digest().String(), Said: outbox.Said{By: outbox.Decider{Principal: "ada"}},
	}}
	for _, name := range names {
		found.Tools = append(found.Tools, outbox.Spec{Name: name, JSON: []byte(`{"name":"` + name + `","class":"read"}`)})
	}
	return found
}

func TestAHealthyInstallationPassesEveryCheck(t *testing.T) {
	t.Parallel()
	report := judge(healthy())
	for _, c := range report.Checks {
		if c.Status != OK || c.Found == "" || c.Mend != "" {
			t.Errorf("%+v", c)
		}
	}
	if !report.OK || len(report.Failed()) != 0 {
		t.Errorf("the report is not ok: %q", report.Failed())
	}
	names := Names()
	slices.Sort(names)
	if len(slices.Compact(names)) != len(report.Checks) {
		t.Errorf("a name is there twice: %q", names)
	}
}

func TestEachIllnessIsFoundByItsOwnCheckWithAWayToMendIt(t *testing.T) {
	t.Parallel()
	server := func(change func(s *outbox.Server)) func(f *facts) {
		return func(f *facts) { change(&f.server.value) }
	}
	pooler := func(p outbox.Pooler) func(f *facts) {
		return func(f *facts) { f.pooler.value = p }
	}
	for _, c := range []struct {
		name        string
		ill         func(f *facts)
		check       string
		want        Status
		found, mend string // parts of what it says
	}{
		{"old", server(func(s *outbox.Server) { s.Version, s.VersionText = 130015, "13.15" }), "postgres_version", Fail, "13.15", "14"},
		{"the oldest", server(func(s *outbox.Server) { s.Version = 140000 }), "postgres_version", OK, "", ""},
		{"another encoding", server(func(s *outbox.Server) { s.Encoding = "SQL_ASCII" }), "postgres_encoding", Fail, "SQL_ASCII", "UTF8"},
		{"fsync off", server(func(s *outbox.Server) { s.Fsync = false }), "postgres_fsync", Fail, "off", "ALTER SYSTEM SET fsync = on"},
		{"torn pages", server(func(s *outbox.Server) { s.FullPageWrites = false }), "postgres_full_page_writes", Fail, "off", "full_page_writes = on"},
		{"commits relaxed", server(func(s *outbox.Server) { s.SynchronousCommit = "off" }), "postgres_synchronous_commit", Warn, "off", `ALTER ROLE "till-7" SET synchronous_commit`},
		{"commits local", server(func(s *outbox.Server) { s.SynchronousCommit = "local" }), "postgres_synchronous_commit", Warn, "local", "ALTER ROLE"},
		{"commits strict", server(func(s *outbox.Server) { s.SynchronousCommit = "remote_apply" }), "postgres_synchronous_commit", OK, "remote_apply", ""},
		{"isolated", server(func(s *outbox.Server) { s.Isolation = "serializable" }), "postgres_isolation", Warn, "serializable", "ALTER ROLE"},
		{"a standby", server(func(s *outbox.Server) { s.Recovering = true }), "postgres_writable", Fail, "standby", "target_session_attrs"},
		{"read-only", server(func(s *outbox.Server) { s.ReadOnly = true }), "postgres_writable", Fail, "read-only", "default_transaction_read_only = off"},
		{"no standby", server(func(s *outbox.Server) { s.SynchronousNames, s.Standbys, s.Synchronous = "", 0, 0 }), "postgres_standby", OK, "none", ""},
		{"none synchronous", server(func(s *outbox.Server) { s.SynchronousNames, s.Synchronous = "", 0 }), "postgres_standby", Warn, "2 standby servers", "synchronous_standby_names"},
		{"waiting for nobody", server(func(s *outbox.Server) { s.Standbys, s.Synchronous = 0, 0 }), "postgres_standby", Fail, "waits", "start the standby"},
		{"out of sight", server(func(s *outbox.Server) { s.Synchronous, s.Hidden = 0, 2 }), "postgres_standby", Warn, "may not see", `GRANT pg_monitor TO "till-7"`},
		{"crowded", server(func(s *outbox.Server) { s.Room = 3 }), "postgres_connections", Warn, "room for 3", "max_connections"},
		{"full", server(func(s *outbox.Server) { s.Room = -1 }), "postgres_connections", Fail, "room for 0", "max_connections"},

		{"a pooler for sessions", pooler(outbox.Pooler{Mode: outbox.PerSession, NamesStatements: true}), "postgres_pooler", OK, "session", ""},
		{"for transactions", pooler(outbox.Pooler{Mode: outbox.PerTransaction, Prepared: outbox.Lost, NamesStatements: true}), "postgres_pooler", Fail, "loses", "cache_describe"},
		{"without names", pooler(outbox.Pooler{Mode: outbox.PerTransaction, Prepared: outbox.Lost}), "postgres_pooler", Warn, "all but migrations", "writ migrate"},
		{"with names kept", pooler(outbox.Pooler{Mode: outbox.PerTransaction, Prepared: outbox.Kept, NamesStatements: true}), "postgres_pooler", Warn, "all but migrations", "writ migrate"},
		{"with names untried", pooler(outbox.Pooler{Mode: outbox.PerTransaction, NamesStatements: true}), "postgres_pooler", Warn, "not found out", "max_prepared_statements"},
		{"for statements", pooler(outbox.Pooler{Mode: outbox.PerStatement}), "postgres_pooler", Fail, "refuses transactions", "pool_mode = session"},
		{"that lets one in", func(f *facts) { f.pooler.err = errors.New("no second connection") }, "postgres_pooler", Warn, "no second", "two connections"},

		{"not migrated", func(f *facts) { f.schema.value.Applied, f.schema.value.Missing = 1, []string{"00002_intake.sql"} }, "migrations", Fail, "1 of 2 migrations: 00002_intake.sql", "writ migrate up"},
		{"a newer schema", func(f *facts) { f.schema.value.Newer = []int64{3, 4} }, "migrations", Warn, "3 4", "release"},
		{"no schema", func(f *facts) { f.schema.value.Name, f.schema.value.SearchPath = "", "nowhere" }, "migrations", Fail, "nowhere", "search_path"},
		{"unreadable", func(f *facts) { f.schema.err = errors.New("permission denied for table writ_migrations") }, "migrations", Fail, "permission denied", "GRANT SELECT"},
		{"few rights", func(f *facts) { f.denied.value = []string{"INSERT on intents", "UPDATE on intents"} }, "privileges", Fail, "INSERT on intents, UPDATE on intents", "grant"},
		{"a promoted standby", func(f *facts) { f.times.value.Current.Number = 4 }, "timeline", Fail, "timeline 4 of cluster 7400000000000000001", "writ recover --after-restore"},
		{"another cluster", func(f *facts) { f.times.value.Current.System = 12 }, "timeline", Fail, "trusted in timeline 3", "writ recover --after-restore"},
		{"half marked", func(f *facts) { f.times.value.Trusted.Number, f.times.value.Principal = 0, "ada" }, "timeline", Fail, "ada has begun", "once more"},
		{"a second ahead", func(f *facts) { f.clock.value.Ahead = 1100 * time.Millisecond }, "clock", Warn, "1.1s ahead", "NTP"},
		{"a second behind", func(f *facts) { f.clock.value.Ahead = -1100 * time.Millisecond }, "clock", Warn, "1.1s behind", "NTP"},
		{"perhaps a second", func(f *facts) {
			f.clock.value = outbox.Clock{Ahead: 1100 * time.Millisecond, Within: 200 * time.Millisecond}
		}, "clock", OK, "give or take 200ms", ""},
		{"an hour", func(f *facts) { f.clock.value.Ahead = time.Hour }, "clock", Fail, "1h0m0s ahead", "NTP"},

		{"a deleted namespace", func(f *facts) { f.names.value.Usable = false }, "temporal_namespace", Fail, "payments", "TEMPORAL_NAMESPACE"},
		{"no updates", func(f *facts) { f.names.value.Updates = false }, "temporal_namespace", Fail, "updates", "1.28"},
		{"no right to see it", func(f *facts) { f.names.err = serviceerror.NewPermissionDenied("no", "") }, "temporal_namespace", Fail, "no", "TEMPORAL_API_KEY"},
		{"attributes missing", func(f *facts) { f.attributes.value.missing = []string{"WritTool"} }, "temporal_search_attributes", Warn, "WritTool", "start a worker"},
		{"attributes mistyped", func(f *facts) { f.attributes.value.mistyped = []string{"WritState"} }, "temporal_search_attributes", Fail, "WritState", "remove"},
		{"attributes hidden", func(f *facts) { f.attributes.err = serviceerror.NewPermissionDenied("no", "") }, "temporal_search_attributes", Warn, "no", "list"},
		{"no tools", func(f *facts) { f.queues.value = nil }, "workers", Warn, "no worker has published", "writ worker"},
		{"nobody there", func(f *facts) { delete(f.polled.value, "helpdesk") }, "workers", Warn, "none on task queue helpdesk, whose tools are tickets.close, tickets.open; 2 workers on task queue writ", "--task-queue"},
		{"a hold", func(f *facts) {
			f.holds.value = []outbox.Hold{{Subject: outbox.Subject{Scope: outbox.HoldProvider, Name: "bank"}, Decider: outbox.Decider{Principal: "ada", Note: "they migrate"},
				SetAt: f.now}, {Subject: outbox.Subject{Scope: outbox.HoldTool, Name: "echo"}, Decider: outbox.Decider{Principal: "eve"}, SetAt: f.now}}
		}, "holds", Warn, "on provider bank, set by ada at 2026-03-01T12:00:00Z (they migrate); on tool echo, set by eve", "writ hold lift"},
		{"a parked request", func(f *facts) {
			f.backlog.value = outbox.Backlog{Due: 3, Parked: 2, ParkedFor: intent.CodeUnknownTool, FirstParked: intent.IntentID("acme", "order-7")}
		}, "backlog", Warn, "2 enqueued requests parked, for a person to decide, the longest of them intent ", "writ enqueued retry"},
		{"a backlog that nobody takes", func(f *facts) {
			f.backlog.value = outbox.Backlog{Due: 3, Waited: 61 * time.Second, FirstDue: intent.IntentID("acme", "order-7"), DueError: "not_yet_known"}
		}, "backlog", Warn, "for 1m1s the first of them", "start a worker"},
		{"a backlog on its way", func(f *facts) { f.backlog.value = outbox.Backlog{Due: 3, Waited: 9 * time.Second} }, "backlog", OK, "", ""},
		{"a stuck intent", func(f *facts) {
			f.stuck.value = outbox.Stuck{Count: 1, Oldest: []outbox.StuckIntent{{ID: intent.ID{15: 1}, Tool: "echo", State: intent.Recorded, Since: f.now}}}
		}, "progress", Warn, "1 intent makes no progress: 00000000-0000-0000-0000-000000000001 of echo, recorded, since 2026-03-01T12:00:00Z", "writ recover"},
		{"many stuck intents", func(f *facts) {
			f.stuck.value = outbox.Stuck{Count: 7, Oldest: []outbox.StuckIntent{{Tool: "echo"}, {Tool: "fetch"}, {Tool: "notify"}}}
		}, "progress", Warn, "7 intents make no progress: the longest 00000000", "workers"},
		{"stuck intents hidden", func(f *facts) { f.stuck.err = errors.New("permission denied for table intents") }, "progress", Warn, "permission denied", "privileges"},
		{"holds hidden", func(f *facts) { f.holds.err = errors.New("permission denied for table holds") }, "holds", Warn, "permission denied", "privileges"},
		{"policies of another tool", func(f *facts) {
			f.rules.value = inForce(t, `permit(principal, action, resource == Tool::"payments.refund");`, "echo")
		}, "policies", Warn, "those in force, put by ada, speak of what no published tool is or takes: invalid_policy: a.cedar:1: ", "writ policy put"},
		{"policies of another schema", func(f *facts) {
			f.rules.value = inForce(t, `permit(principal, action, resource) when { context.payload.amount == "1.00" };`, "echo")
		}, "policies", Fail, "those in force, put by ada, do not fit: workers with --stored-policies whose tools they do not fit refuse everything as gate_error: invalid_policy: a.cedar:1: ", "writ policy put"},
		{"policies that fit", func(f *facts) {
			f.rules.value = inForce(t, `permit(principal, action, resource == Tool::"echo");`, "echo", "fetch")
		}, "policies", OK, "put by ada, fit 2 tools: ", ""},
		{"policies changed by hand", func(f *facts) {
			f.rules.value = inForce(t, `permit(principal, action, resource);`, "echo")
			f.rules.value.Files = map[string]string{"a.cedar": `forbid(principal, action, resource);`}
		}, "policies", Fail, "changed by hand", "--digest"},
		{"policies that are no texts", func(f *facts) {
			f.rules.err = fmt.Errorf("read the policies: %w", intent.Errorf(intent.CodeInvalidPolicy, "it was changed by hand"))
		}, "policies", Fail, "refuse everything as gate_error: read the policies: invalid_policy: it was changed by hand", "--digest"},
		{"policies hidden", func(f *facts) { f.rules.err = errors.New("permission denied for table policy_sets") }, "policies", Warn, "permission denied", "privileges"},
		{"a budget that counts wrongly", func(f *facts) {
			f.budgets.value = outbox.BudgetAudit{Standing: 1, Wrong: []outbox.WrongBudget{{Counter: "3", Charged: "4"}}}
		}, "budgets", Fail, "00000000-0000-0000-0000-000000000000 counts 3 and its intents come to 4", "by hand"},
		{"a budget changed by hand", func(f *facts) {
			f.budgets.value = outbox.BudgetAudit{Standing: 1, Broken: []uuid.UUID{{15: 7}}, Wrong: []outbox.WrongBudget{{Counter: "NaN", Charged: "4"}}}
		}, "budgets", Fail, "1 budget cannot count, because somebody changed rows of budgets or budget_counters by hand, and everything that falls under them is refused as budget_uncountable: 00000000-0000-0000-0000-000000000007", "writ budget set"},
		{"a budget used up", func(f *facts) {
			f.budgets.value = outbox.BudgetAudit{Standing: 2, Low: []uuid.UUID{{15: 1}}, Waiting: 2, Since: f.now}
		}, "budgets", Warn, "1 budget used up or nearly so: 00000000-0000-0000-0000-000000000001; 2 intents wait for room, the first since 2026-03-01T12:00:00Z", "writ budget set"},
		{"budgets with room", func(f *facts) { f.budgets.value = outbox.BudgetAudit{Standing: 2} }, "budgets", OK, "2 budgets, each with room", ""},
		{"budgets hidden", func(f *facts) { f.budgets.err = errors.New("permission denied for table budgets") }, "budgets", Warn, "permission denied", "privileges"},
		{"nobody for minutes", func(f *facts) { f.now = f.now.Add(3 * time.Minute) }, "workers", Warn, "none on task queue writ", "wait"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			f := healthy()
			c.ill(&f)
			report := judge(f)
			if report.OK != (c.want != Fail) {
				t.Errorf("the report is ok: %v", report.OK)
			}
			for _, got := range report.Checks {
				if got.Name != c.check {
					// On a standby nobody can tell how the primary's standbys are.
					if got.Status != OK && (got.Name != "postgres_standby" || got.Status != Unknown) {
						t.Errorf("another check took it up: %+v", got)
					}
					continue
				}
				if got.Status != c.want || !strings.Contains(got.Found, c.found) || !strings.Contains(got.Mend, c.mend) {
					t.Errorf("%+v; want %s, %q, %q", got, c.want, c.found, c.mend)
				}
				if (got.Mend == "") != (c.want == OK) {
					t.Errorf("what to do is %q", got.Mend)
				}
			}
		})
	}
}

func TestWhatHangsOnAFailureIsUnknownAndNotFailed(t *testing.T) {
	t.Parallel()
	database := []string{
		"postgres_version", "postgres_encoding", "postgres_fsync", "postgres_full_page_writes", "postgres_synchronous_commit",
		"postgres_isolation", "postgres_writable", "postgres_standby", "postgres_connections", "postgres_pooler",
		"migrations", "privileges", "timeline", "clock", "workers",
	}
	noDatabase := healthy()
	skip := notLooked{"PostgreSQL is not reachable"}
	noDatabase.server.err = fmt.Errorf("connect: %w", &outbox.ConnectError{Why: outbox.NotAuthorized, Cause: errors.New("wrong password")})
	noDatabase.schema.err, noDatabase.denied.err, noDatabase.clock.err, noDatabase.pooler.err, noDatabase.queues.err = skip, skip, skip, skip, skip
	noDatabase.times.err = skip

	noTemporal := healthy()
	skip = notLooked{"Temporal is not reachable"}
	noTemporal.version.err = serviceerror.NewUnavailable("connection refused")
	noTemporal.names.err, noTemporal.attributes.err, noTemporal.polled.err = skip, skip, skip

	noNamespace := healthy()
	skip = notLooked{"the namespace does not exist"}
	noNamespace.names.err = fmt.Errorf("describe: %w", serviceerror.NewNamespaceNotFound("payments"))
	noNamespace.attributes.err, noNamespace.polled.err = skip, skip

	for name, c := range map[string]struct {
		facts   facts
		fails   string
		mend    string
		unknown []string
	}{
		"no database":  {noDatabase, "postgres_reachable", "password", database},
		"no Temporal":  {noTemporal, "temporal_reachable", "TEMPORAL_ADDRESS", []string{"temporal_namespace", "temporal_search_attributes", "workers"}},
		"no namespace": {noNamespace, "temporal_namespace", "namespace create --namespace payments", []string{"temporal_search_attributes", "workers"}},
	} {
		for _, got := range judge(c.facts).Checks {
			want := OK
			switch {
			case got.Name == c.fails:
				want = Fail
			case slices.Contains(c.unknown, got.Name):
				want = Unknown
			}
			if got.Status != want || got.Found == "" || (got.Mend != "") != (want == Fail) {
				t.Errorf("%s: %+v, want %s", name, got, want)
			}
			if want == Fail && !strings.Contains(got.Mend, c.mend) {
				t.Errorf("%s is mended by %q", name, got.Mend)
			}
		}
	}
}

func TestEveryObstacleHasAWayAroundIt(t *testing.T) {
	t.Parallel()
	for _, why := range []outbox.Obstacle{
		outbox.NoAnswer, outbox.NotReady, outbox.NoDatabase, outbox.NotAuthorized, outbox.NoRoom, outbox.NoParameter, outbox.OtherObstacle,
	} {
		f := healthy()
		f.server.err = &outbox.ConnectError{Why: why, Cause: errors.New("no")}
		if got := postgresReachable(f); got.status != Fail || got.mend == "" {
			t.Errorf("%s: %+v", why, got)
		}
	}
}

func TestTheLinesOfADriversMessageAreJoinedOnce(t *testing.T) {
	t.Parallel()
	err := errors.New("failed to connect:\n\t10.0.0.1: refused\n\t10.0.0.1: refused\n\t10.0.0.2: refused")
	if got, want := oneLine(err), "failed to connect: 10.0.0.1: refused 10.0.0.2: refused"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestADeadlineThatTemporalsSideNoticesFirstIsNoAnswerEither(t *testing.T) {
	t.Parallel()
	for _, ended := range []error{
		serviceerror.NewCanceled("stream terminated by RST_STREAM with error code: CANCEL"), serviceerror.NewDeadlineExceeded("context deadline exceeded"),
	} {
		got := look(t.Context(), time.Minute, func(context.Context) (int, error) { return 0, fmt.Errorf("ask: %w", ended) })
		if got.err == nil || !strings.Contains(got.err.Error(), "no answer within 1m0s") {
			t.Errorf("%v", got.err)
		}
	}
	refused := look(t.Context(), time.Minute, func(context.Context) (int, error) { return 0, serviceerror.NewUnavailable("refused") })
	if refused.err == nil || strings.Contains(refused.err.Error(), "no answer") {
		t.Errorf("%v", refused.err)
	}
}
