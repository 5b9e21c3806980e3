package outbox

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/jackc/pgx/v5"
)

// effectStatements are the words that a statement of a tool may begin with. They read and
// change rows. What is missing controls transactions (COMMIT, and SAVEPOINT, whose ROLLBACK TO
// would mend a transaction that the engine has seen break), changes the session that others
// use after the tool (SET, PREPARE, LISTEN, CREATE TEMPORARY TABLE), or has a protocol of its
// own (COPY). CALL and DO may stand here: PostgreSQL refuses a COMMIT in them while they run
// in a transaction (PostgreSQL manual, CALL, Notes).
var effectStatements = map[string]bool{
	"select": true, "insert": true, "update": true, "delete": true, "merge": true, "truncate": true,
	"with": true, "values": true, "table": true, "lock": true, "call": true, "do": true, "notify": true,
}

// refuseStatement says why a tool may not run the statement with these arguments; nil if it may.
func refuseStatement(sql string, args []any) error {
	if word := firstWord(sql); !effectStatements[word] {
		return fmt.Errorf("a statement that begins with %q is refused: a tool's transaction takes statements that read and change rows, "+
			"and is ended by the engine alone", strings.ToUpper(word))
	}
	for _, arg := range args {
		switch arg.(type) {
		case pgx.NamedArgs, pgx.StrictNamedArgs: // they replace names by numbers, and no words
		case pgx.QueryExecMode, pgx.QueryResultFormats, pgx.QueryResultFormatsByOID, pgx.QueryRewriter:
			// The simple protocol would take several statements in one string, and a rewriter
			// could make any of this one.
			return fmt.Errorf("an argument of type %T is refused: how a statement is sent is the engine's choice", arg)
		}
	}
	return nil
}

// firstWord returns the first word of a statement in lower case, as PostgreSQL's scanner finds
// it: after white space, comments, and the semicolons of empty statements. A parenthesis, which
// begins a query, counts for the word after it. It is empty if something else comes first.
func firstWord(sql string) string {
	for {
		sql = strings.TrimLeft(sql, " \t\n\r\f\v;(")
		switch {
		case strings.HasPrefix(sql, "--"):
			end := strings.IndexAny(sql, "\r\n")
			if end < 0 {
				return ""
			}
			sql = sql[end:]
		case strings.HasPrefix(sql, "/*"):
			sql = afterComment(sql)
		default:
			end := strings.IndexFunc(sql, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
			if end < 0 {
				end = len(sql)
			}
			return strings.ToLower(sql[:end])
		}
	}
}

// afterComment returns what follows the block comment at the start of sql. In SQL they nest.
func afterComment(sql string) string {
	depth := 0
	for i := 0; i+1 < len(sql); {
		switch sql[i : i+2] {
		case "/*":
			depth++
			i += 2
		case "*/":
			depth--
			i += 2
		default:
			i++
		}
		if depth == 0 {
			return sql[i:]
		}
	}
	return "" // it never ends, and PostgreSQL will say so of an empty statement
}
