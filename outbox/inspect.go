package outbox

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Inspector reads what the promises of this package rest on and cannot see in a row: how
// the server keeps what is committed, who stands in between, what the schema lacks. It
// judges nothing and changes nothing. Close it after use; it is not safe for concurrent use.
//
// It has a connection of its own and names no statement on it, so that it also gets through
// where the pool's statements would not.
type Inspector struct {
	conn  *pgx.Conn
	cfg   *pgx.ConnConfig
	names bool // the pool gives its statements names
	most  int  // connections that the pool opens
}

// Inspector connects to the database. The error is a *ConnectError.
func (s *Store) Inspector(ctx context.Context) (*Inspector, error) {
	pool := s.pool.Config()
	i := &Inspector{
		cfg:   pool.ConnConfig,
		names: pool.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement,
		most:  int(pool.MaxConns),
	}
	i.cfg.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := i.connect(ctx)
	if err != nil {
		return nil, &ConnectError{Why: whyNot(err), Cause: err}
	}
	i.conn = conn
	return i, nil
}

func (i *Inspector) connect(ctx context.Context) (*pgx.Conn, error) {
	return pgx.ConnectConfig(ctx, i.cfg.Copy())
}

// Close closes the connection.
func (i *Inspector) Close(ctx context.Context) error { return i.conn.Close(ctx) }

// Lost says that the connection broke, as at a statement that was given up.
func (i *Inspector) Lost() bool { return i.conn.IsClosed() }

// ConnectError is why there is no connection.
type ConnectError struct {
	Why   Obstacle
	Cause error
}

func (e *ConnectError) Error() string { return e.Cause.Error() }

// Unwrap returns Cause.
func (e *ConnectError) Unwrap() error { return e.Cause }

// Obstacle is why PostgreSQL, or a pooler before it, does not let Writ in.
type Obstacle string

// The obstacles.
const (
	// NoAnswer: nobody answers at the address, or not in time.
	NoAnswer Obstacle = "no_answer"
	// NotReady: the server starts, stops or recovers.
	NotReady Obstacle = "not_ready"
	// NoDatabase: the server has no such database.
	NoDatabase Obstacle = "no_database"
	// NotAuthorized: the user, its password or its rights.
	NotAuthorized Obstacle = "not_authorized"
	// NoRoom: the server has no connection left.
	NoRoom Obstacle = "no_room"
	// NoParameter: a pooler refuses a setting that the URL gives, such as search_path.
	NoParameter Obstacle = "no_parameter"
	// OtherObstacle is any other.
	OtherObstacle Obstacle = "other"
)

// whyNot tells obstacles apart by their SQLSTATE, appendix A of PostgreSQL's manual.
func whyNot(err error) Obstacle {
	var said *pgconn.PgError
	if !errors.As(err, &said) {
		return NoAnswer
	}
	switch said.Code {
	case "57P03":
		return NotReady
	case "3D000":
		return NoDatabase
	case "28000", "28P01", "42501": // the last: no right to connect
		return NotAuthorized
	case "53300":
		return NoRoom
	case "08P01": // PgBouncer gives all of its refusals this code
		if strings.Contains(said.Message, "startup parameter") {
			return NoParameter
		}
	}
	return OtherObstacle
}

// Server is what the server says of itself and of the role's defaults.
type Server struct {
	Address, Database string
	// Role is quoted as SQL needs it.
	Role string
	// Version is the number as in server_version_num: 150018 is 15.18.
	Version     int
	VersionText string
	Encoding    string

	Fsync, FullPageWrites bool
	SynchronousCommit     string
	Isolation             string
	// ReadOnly says that the role's transactions may not write unless they ask for it.
	ReadOnly bool
	// Recovering says that it is a standby.
	Recovering bool

	// SynchronousNames is the setting synchronous_standby_names.
	SynchronousNames string
	// Standbys are connected; of Synchronous of them commits wait for, and Hidden do not
	// show this role whether.
	Standbys, Synchronous, Hidden int

	// Connections are open on the server, which admits Admitted of ordinary roles.
	Connections, Admitted int
	// Room is how many more the server, the database and the role admit together.
	Room int
	// PoolSize is how many a worker or a client opens at most.
	PoolSize int
}

// Server reads the settings that are in force for a connection of Writ's.
func (i *Inspector) Server(ctx context.Context) (Server, error) {
	const query = `
		WITH standby AS (
			SELECT r.sync_state FROM pg_stat_replication r
			LEFT JOIN pg_replication_slots s ON s.active_pid = r.pid
			WHERE s.slot_type IS DISTINCT FROM 'logical' AND r.state IS DISTINCT FROM 'backup'
		), room AS (
			SELECT
				-- reserved_connections came with PostgreSQL 16.
				current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
					- coalesce(current_setting('reserved_connections', true)::int, 0) AS admitted,
				(SELECT sum(numbackends)::int FROM pg_stat_database) AS open,
				(SELECT CASE WHEN d.datconnlimit >= 0 THEN d.datconnlimit - s.numbackends END
					FROM pg_database d JOIN pg_stat_database s ON s.datid = d.oid WHERE d.datname = current_database()) AS of_database,
				(SELECT CASE WHEN r.rolconnlimit >= 0
						THEN r.rolconnlimit - (SELECT count(*) FROM pg_stat_activity a WHERE a.usesysid = r.oid) END
					FROM pg_roles r WHERE r.rolname = current_user) AS of_role
		)
		SELECT
			quote_ident(current_user), current_database(),
			current_setting('server_version_num')::int, current_setting('server_version'), current_setting('server_encoding'),
			current_setting('fsync')::bool, current_setting('full_page_writes')::bool, current_setting('synchronous_commit'),
			current_setting('default_transaction_isolation'), current_setting('default_transaction_read_only')::bool,
			pg_is_in_recovery(), current_setting('synchronous_standby_names'),
			(SELECT count(*) FROM standby)::int,
			(SELECT count(*) FROM standby WHERE sync_state IN ('sync', 'quorum'))::int,
			(SELECT count(*) FROM standby WHERE sync_state IS NULL)::int,
			open, admitted, least(admitted - open, of_database, of_role)::int
		FROM room`
	s := Server{Address: i.address(), PoolSize: i.most}
	err := i.conn.QueryRow(ctx, query).Scan(
		&s.Role, &s.Database, &s.Version, &s.VersionText, &s.Encoding,
		&s.Fsync, &s.FullPageWrites, &s.SynchronousCommit, &s.Isolation, &s.ReadOnly,
		&s.Recovering, &s.SynchronousNames, &s.Standbys, &s.Synchronous, &s.Hidden,
		&s.Connections, &s.Admitted, &s.Room)
	return s, wrap("read the settings", err)
}

// address names the server as the URL does. Of several in the URL, it names the one that
// the connection goes to.
func (i *Inspector) address() string {
	for _, other := range i.cfg.Fallbacks { // also holds tries of one host with and without TLS
		if other.Host != i.cfg.Host || other.Port != i.cfg.Port {
			return i.conn.PgConn().Conn().RemoteAddr().String()
		}
	}
	return net.JoinHostPort(i.cfg.Host, strconv.Itoa(int(i.cfg.Port)))
}

// Clock is how the database's clock stands to this machine's.
type Clock struct {
	// Ahead is the database's clock minus this machine's.
	Ahead time.Duration
	// Within is how far off Ahead may be: half of the time that the answer took.
	Within time.Duration
}

// Clock reads the clock that decides leases and windows, writ_now() where the schema has
// it. Of a few answers the quickest counts: it says the most.
func (i *Inspector) Clock(ctx context.Context) (Clock, error) {
	var own bool
	if err := i.conn.QueryRow(ctx, `SELECT to_regproc('writ_now') IS NOT NULL`).Scan(&own); err != nil {
		return Clock{}, wrap("look for the clock", err)
	}
	query := `SELECT clock_timestamp()`
	if own {
		query = `SELECT writ_now()`
	}
	const answers = 5
	best := Clock{Within: time.Duration(1<<63 - 1)}
	for range answers {
		var there time.Time
		asked := time.Now()
		if err := i.conn.QueryRow(ctx, query).Scan(&there); err != nil {
			return Clock{}, wrap("read the clock", err)
		}
		if half := time.Since(asked) / 2; half < best.Within {
			best = Clock{Ahead: there.Sub(asked.Add(half)), Within: half}
		}
	}
	return best, nil
}

// wrap says what was tried. DatabaseError is not asked: nobody waits for an intent here,
// and whoever reads the error wants PostgreSQL's own words.
func wrap(what string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", what, err)
}
