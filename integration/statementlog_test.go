package integration

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"writ/internal/postgres"
)

// statementLog is a PostgreSQL of one test that writes down every statement of every
// session, so that what Writ commits is counted by the database and not by Writ.
type statementLog struct {
	url     string
	written output
}

// The prefix of each line: the session, the transaction id (0 until the transaction
// writes: PostgreSQL assigns one then, and only a transaction that has one writes a commit
// record and waits for the disk), and the application.
const linePrefix = "statement %p %x %a: "

var loggedLine = regexp.MustCompile(`(?m)^statement (\d+) (\d+) (\S*): LOG:  (?:statement|execute [^:]*): `)

// startStatementLog starts the server.
func startStatementLog(t testing.TB) *statementLog {
	t.Helper()
	l := &statementLog{}
	server, err := postgres.Start(t.Context(), postgres.Options{Ephemeral: true, Log: &l.written})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	l.url = server.URL("postgres")
	for _, setting := range []string{
		"log_statement = 'all'", "log_line_prefix = '" + linePrefix + "'", "log_parameter_max_length = 0",
		"autovacuum = off", // it writes too
	} {
		query(t, l.url, "ALTER SYSTEM SET "+setting)
	}
	query(t, l.url, "SELECT pg_reload_conf()")
	eventually(t, "every statement is logged", func(context.Context) error {
		var all string
		if query(t, l.url, "SHOW log_statement", &all); all != "all" {
			return errors.New("log_statement is " + all)
		}
		return nil
	})
	return l
}

// mark is a place in the log.
type mark struct {
	offset int
	// xid is the next transaction id: each transaction that writes takes one.
	xid int64
}

// mark returns the end of the log, after everything that was done before.
func (l *statementLog) mark(t testing.TB) mark {
	t.Helper()
	var m mark
	query(t, l.url, "SELECT pg_snapshot_xmax(pg_current_snapshot())::text::bigint", &m.xid)
	text := fmt.Sprintf("SELECT 'mark %d'", time.Now().UnixNano())
	query(t, l.url, text)
	timeout := time.After(patience)
	for {
		written, changed := l.written.now()
		if at := bytes.Index(written, []byte(text)); at >= 0 {
			m.offset = at + bytes.IndexByte(written[at:], '\n') + 1
			return m
		}
		select {
		case <-changed:
		case <-timeout:
			t.Fatalf("the log does not reach %s: %s", text, l.written.bytes())
		}
	}
}

// transaction is one that wrote and was committed.
type transaction struct {
	session string
	// flushed says that its commit waits for the disk.
	flushed    bool
	xid        string
	statements []string
}

func (c transaction) String() string {
	return fmt.Sprintf("flushed %v:\n\t%s", c.flushed, strings.Join(c.statements, "\n\t"))
}

var writing = regexp.MustCompile(`(?i)\b(insert|update|delete|truncate|create|alter|drop)\b`)

// commits returns the transactions of the application that wrote between two marks. A
// write outside of a transaction is one of its own, and flushed, since that is the
// server's default.
func (l *statementLog) commits(t testing.TB, application string, from, to mark) []transaction {
	t.Helper()
	text := string(l.written.bytes()[from.offset:to.offset])
	places := loggedLine.FindAllStringSubmatchIndex(text, -1)
	open := map[string]*transaction{}
	var committed []transaction
	for i, at := range places {
		end := len(text)
		if i+1 < len(places) {
			end = places[i+1][0]
		}
		session, xid, by := text[at[2]:at[3]], text[at[4]:at[5]], text[at[6]:at[7]]
		statement := strings.Join(strings.Fields(text[at[1]:end]), " ")
		if by != application {
			continue
		}
		current := open[session]
		switch word, _, _ := strings.Cut(strings.TrimRight(strings.ToLower(statement), "; "), " "); {
		case strings.HasPrefix(word, "begin"):
			open[session] = &transaction{session: session, flushed: !strings.Contains(statement, "synchronous_commit to off")}
		case word == "rollback":
			delete(open, session)
		case word == "commit" && current != nil:
			if current.xid = xid; xid != "0" {
				committed = append(committed, *current)
			}
			delete(open, session)
		case current != nil:
			current.statements = append(current.statements, statement)
		case writing.MatchString(statement) && !strings.HasPrefix(word, "select"):
			committed = append(committed, transaction{session: session, flushed: true, statements: []string{statement}})
		}
	}
	return committed
}
