package doctor

// Status is the result of one check.
type Status string

const (
	// OK: as it should be.
	OK Status = "ok"
	// Warn: Writ works, and something that matters is lost or will be missed.
	Warn Status = "warn"
	// Fail: Writ does not work, or a promise does not hold.
	Fail Status = "fail"
	// Unknown: not looked at, because what it hangs on failed.
	Unknown Status = "unknown"
)

// Check is what one check found.
type Check struct {
	// Name is stable: programs match on it.
	Name   string `json:"name"`
	Status Status `json:"status"`
	// Found says how it is.
	Found string `json:"found"`
	// Mend says what to do; empty where there is nothing to do.
	Mend string `json:"mend,omitempty"`
}

// Report is the result of an examination.
type Report struct {
	// OK says that no check failed. Warnings are allowed.
	OK bool `json:"ok"`
	// Checks holds every check, in the order of Names.
	Checks []Check `json:"checks"`
}

// Failed returns the names of the checks that failed.
func (r Report) Failed() []string {
	var failed []string
	for _, c := range r.Checks {
		if c.Status == Fail {
			failed = append(failed, c.Name)
		}
	}
	return failed
}

// Names returns the names of all checks, in the order in which they are reported.
func Names() []string {
	names := make([]string, len(checks))
	for i, c := range checks {
		names[i] = c.name
	}
	return names
}

// checks is every check, from the ground up: what fails first explains what follows.
var checks = []struct {
	name  string
	judge func(facts) finding
}{
	{"postgres_reachable", postgresReachable},
	{"postgres_version", ofServer(postgresVersion)},
	{"postgres_encoding", ofServer(postgresEncoding)},
	{"postgres_fsync", ofServer(postgresFsync)},
	{"postgres_full_page_writes", ofServer(postgresFullPageWrites)},
	{"postgres_synchronous_commit", ofServer(postgresSynchronousCommit)},
	{"postgres_isolation", ofServer(postgresIsolation)},
	{"postgres_writable", ofServer(postgresWritable)},
	{"postgres_standby", ofServer(postgresStandby)},
	{"postgres_connections", ofServer(postgresConnections)},
	{"postgres_pooler", postgresPooler},
	{"migrations", migrations},
	{"privileges", privileges},
	{"timeline", timeline},
	{"clock", clock},
	{"temporal_reachable", temporalReachable},
	{"temporal_namespace", temporalNamespace},
	{"temporal_search_attributes", temporalSearchAttributes},
	{"workers", workers},
	{"policies", policies},
	{"holds", holds},
	{"backlog", backlog},
	{"progress", progress},
}

// judge makes the report of the facts.
func judge(f facts) Report {
	report := Report{OK: true, Checks: make([]Check, len(checks))}
	for i, c := range checks {
		found := c.judge(f)
		report.Checks[i] = Check{Name: c.name, Status: found.status, Found: found.found, Mend: found.mend}
		report.OK = report.OK && found.status != Fail
	}
	return report
}
