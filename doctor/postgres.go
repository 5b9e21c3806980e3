package doctor

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"writ/outbox"
)

// oldestPostgres is the oldest PostgreSQL that is supported: older ones are past their end
// of life.
const oldestPostgres = 14

// How far the clocks may be apart. Nothing that Writ decides hangs on it: leases and windows
// are the database's, and a worker counts durations. But times in logs and traces stop
// matching those in receipts, and beyond a minute the receipts themselves may be wrong.
const (
	clockWarns = time.Second
	clockFails = time.Minute
)

func postgresReachable(f facts) finding {
	s, err := f.server.value, f.server.err
	if err == nil {
		return ok("PostgreSQL at %s, database %s, role %s", s.Address, s.Database, s.Role)
	}
	mend := "start PostgreSQL, or correct the host and port in DATABASE_URL"
	var refused *outbox.ConnectError
	if errors.As(err, &refused) {
		mend = obstacles[refused.Why]
	}
	return lost(err, mend, fail)
}

// obstacles says how to remove each.
var obstacles = map[outbox.Obstacle]string{
	outbox.NoAnswer:      "start PostgreSQL, or correct the host, the port and sslmode in DATABASE_URL",
	outbox.NotReady:      "wait until PostgreSQL has started, and look into its log if it does not",
	outbox.NoDatabase:    "create the database with createdb, or correct its name in DATABASE_URL",
	outbox.NotAuthorized: "correct the user and password in DATABASE_URL, or let the role in: LOGIN, CONNECT on the database, pg_hba.conf",
	outbox.NoRoom:        "raise max_connections or the limit of the role or database, or lower pool_max_conns in the DATABASE_URL of clients and workers",
	outbox.NoParameter:   "take the setting out of DATABASE_URL, since the pooler does not pass it on, and give it to the role: ALTER ROLE ... SET",
	outbox.OtherObstacle: "mend what PostgreSQL names; settings in DATABASE_URL are passed to it",
}

// ofServer makes a check of what the server says of itself.
func ofServer(judge func(outbox.Server) finding) func(facts) finding {
	return func(f facts) finding {
		if f.server.err != nil {
			return lost(notLooked{"PostgreSQL is not reachable"}, "", fail)
		}
		return judge(f.server.value)
	}
}

func postgresVersion(s outbox.Server) finding {
	if s.Version < oldestPostgres*10000 {
		return fail(fmt.Sprintf("upgrade to PostgreSQL %d or newer with pg_upgrade", oldestPostgres), "PostgreSQL %s is too old", s.VersionText)
	}
	return ok("PostgreSQL %s", s.VersionText)
}

func postgresEncoding(s outbox.Server) finding {
	if s.Encoding != "UTF8" {
		return fail("create a database with ENCODING 'UTF8' TEMPLATE template0, and migrate and use that",
			"the database's encoding is %s: what a provider answers cannot always be stored", s.Encoding)
	}
	return ok("UTF8")
}

func postgresFsync(s outbox.Server) finding {
	if !s.Fsync {
		return fail("run `ALTER SYSTEM SET fsync = on` and `SELECT pg_reload_conf()`; stop the server once and run initdb --sync-only on its data",
			"off: a crash of the machine can lose claims that were committed, and an effect can happen twice")
	}
	return ok("on")
}

func postgresFullPageWrites(s outbox.Server) finding {
	if !s.FullPageWrites {
		return fail("run `ALTER SYSTEM SET full_page_writes = on` and `SELECT pg_reload_conf()`",
			"off: a page that a crash tears in half cannot be repaired")
	}
	return ok("on")
}

func postgresSynchronousCommit(s outbox.Server) finding {
	switch s.SynchronousCommit {
	case "on", "remote_apply":
		return ok("%s", s.SynchronousCommit)
	}
	return warn("run `ALTER ROLE "+s.Role+" SET synchronous_commit = on`, and take it out of DATABASE_URL if it is there",
		"%s by default: Writ turns it on for each commit that has to last, but what else this role commits may be lost", s.SynchronousCommit)
}

func postgresIsolation(s outbox.Server) finding {
	if s.Isolation != "read committed" {
		return warn("run `ALTER ROLE "+s.Role+" SET default_transaction_isolation = 'read committed'`",
			"%s by default: the transactions of transactional tools are, too, and are run again where they meet; Writ's own are read committed whatever the default", s.Isolation)
	}
	return ok("%s", s.Isolation)
}

func postgresWritable(s outbox.Server) finding {
	switch {
	case s.Recovering:
		return fail("name the primary in DATABASE_URL; with several hosts add target_session_attrs=read-write",
			"the server is a standby, or recovers: it takes no writes")
	case s.ReadOnly:
		return fail("run `ALTER ROLE "+s.Role+" SET default_transaction_read_only = off`, and take it out of DATABASE_URL if it is there",
			"transactions of this role are read-only by default")
	}
	return ok("the primary")
}

func postgresStandby(s outbox.Server) finding {
	const synchronous = "run `ALTER SYSTEM SET synchronous_standby_names = 'ANY 1 (*)'` and `SELECT pg_reload_conf()`, and fail over only to a synchronous one"
	switch {
	case s.Recovering:
		return lost(notLooked{"the server is not the primary"}, "", fail)
	case s.Synchronous > 0:
		return ok("%s connected, of which commits wait for %d", some(s.Standbys, "standby server"), s.Synchronous)
	case s.SynchronousNames == "" && s.Standbys == 0:
		return ok("none is connected, so nothing fails over to older data")
	case s.SynchronousNames == "":
		return warn(synchronous, "%s connected, none of them synchronous: a failover can lose claims that were committed", some(s.Standbys, "standby server"))
	case s.Hidden > 0:
		return warn("run `GRANT pg_monitor TO "+s.Role+"`",
			"%s connected; the role may not see whether commits wait for one (synchronous_standby_names is %q)", some(s.Standbys, "standby server"), s.SynchronousNames)
	}
	return fail("start the standby, or correct synchronous_standby_names",
		"synchronous_standby_names is %q and no such standby is connected: every commit that has to last waits for one", s.SynchronousNames)
}

func postgresConnections(s outbox.Server) finding {
	const mend = "raise max_connections or the limit of the role or database, or lower pool_max_conns in DATABASE_URL"
	found := fmt.Sprintf("%d of %d connections are open, room for %d more; a worker or client opens up to %d", s.Connections, s.Admitted, max(s.Room, 0), s.PoolSize)
	switch {
	case s.Room <= 0:
		return fail(mend, "%s", found)
	case s.Room < s.PoolSize:
		return warn(mend, "%s", found)
	}
	return ok("%s", found)
}

func postgresPooler(f facts) finding {
	if err := f.pooler.err; err != nil {
		return lost(err, "let the pooler admit two connections of this role at once, and look again", warn)
	}
	const (
		migrate = "run `writ migrate` with --database-url naming PostgreSQL itself: it holds a lock of its session"
		names   = "add default_query_exec_mode=cache_describe to DATABASE_URL, or set max_prepared_statements (PgBouncer 1.21 or newer), " +
			"or choose session mode; and " + migrate
	)
	p := f.pooler.value
	switch p.Mode {
	case outbox.Direct:
		return ok("none: the connection is direct")
	case outbox.PerSession:
		return ok("one that lends connections for a session")
	case outbox.PerStatement:
		return fail("set pool_mode = session for this database, or name PostgreSQL itself in DATABASE_URL",
			"one that lends connections for a statement and refuses transactions")
	case outbox.PerTransaction:
	}
	const found = "one that lends connections for a transaction"
	switch {
	case !p.NamesStatements, p.Prepared == outbox.Kept:
		return warn(migrate, found+"; all but migrations work through it")
	case p.Prepared == outbox.Lost:
		return fail(names, found+" and loses the prepared statements that Writ gives names")
	}
	return warn(names, found+"; whether it keeps prepared statements was not found out")
}

func migrations(f facts) finding {
	if err := f.schema.err; err != nil {
		return lost(err, "let the role read writ_migrations: GRANT SELECT", fail)
	}
	s := f.schema.value
	all := s.Applied + len(s.Missing)
	switch {
	case s.Name == "":
		return fail("create the schema, GRANT USAGE on it to the role, or correct search_path in DATABASE_URL",
			"the search path %s names no schema that exists and that the role may use", s.SearchPath)
	case len(s.Missing) > 0:
		return fail("run `writ migrate up`", "schema %s lacks %d of %s: %s", s.Name, len(s.Missing), some(all, "migration"), strings.Join(s.Missing, ", "))
	case len(s.Newer) > 0:
		return warn("use the release that migrated it, or a newer one",
			"schema %s has migrations that this release does not know: %s", s.Name, strings.Trim(fmt.Sprint(s.Newer), "[]"))
	}
	return ok("all %d applied in schema %s", all, s.Name)
}

func privileges(f facts) finding {
	if err := f.denied.err; err != nil {
		return lost(err, "look into PostgreSQL's log", fail)
	}
	switch denied := f.denied.value; {
	case len(denied) > 0:
		return fail("grant them to the role of DATABASE_URL, or use the role that migrates", "the role lacks %s", strings.Join(denied, ", "))
	case f.schema.err == nil && f.schema.value.Applied == 0:
		return lost(notLooked{"there is no schema"}, "", fail)
	}
	return ok("the role may read and write the outbox")
}

func clock(f facts) finding {
	if err := f.clock.err; err != nil {
		return lost(err, "look into PostgreSQL's log", fail)
	}
	c := f.clock.value
	found := "the database and this machine agree"
	switch {
	case c.Ahead > c.Within:
		found = fmt.Sprintf("the database is %s ahead of this machine", rounded(c.Ahead))
	case -c.Ahead > c.Within:
		found = fmt.Sprintf("the database is %s behind this machine", rounded(-c.Ahead))
	}
	found += fmt.Sprintf(", give or take %s", rounded(c.Within))
	const mend = "set both clocks by NTP (chronyc tracking, timedatectl); Writ decides by the database's"
	switch surely := c.Ahead.Abs() - c.Within; {
	case surely > clockFails:
		return fail(mend, "%s: times in receipts may be wrong", found)
	case surely > clockWarns:
		return warn(mend, "%s: times in logs and receipts do not match", found)
	}
	return ok("%s", found)
}

// rounded keeps what matters of a duration.
func rounded(d time.Duration) time.Duration {
	if d >= time.Second {
		return d.Round(100 * time.Millisecond)
	}
	return d.Round(10 * time.Microsecond)
}
