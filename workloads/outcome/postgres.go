package outcome

import (
	"errors"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/torture-harness/torture/harness/history"
)

// Postgres is the outcome of a statement in autocommit that ended with err. A
// nil err must mean that ReadyForQuery was read (QueryRow.Scan returned nil, or
// Rows.Close and Rows.Err did): a row that was scanned is not yet a commit.
//
//	nil                                     ok
//	severity ERROR from the server          fail: the statement was rolled back
//	dial refused, FATAL at the dial         fail: nothing was sent
//	pgconn.SafeToRetry                      fail: nothing was sent
//	class 08, 57P0x, 58; FATAL, PANIC       info: the server may have committed
//	network error, end of a context         info
func Postgres(err error) history.Outcome {
	if err == nil {
		return history.OK
	}
	var connect *pgconn.ConnectError
	if errors.As(err, &connect) || refusedDial(err) || pgconn.SafeToRetry(err) {
		return history.Fail
	}
	var server *pgconn.PgError
	if errors.As(err, &server) && severity(server) == "ERROR" && !breaksConnection(server.Code) {
		return history.Fail
	}
	return history.Info
}

// severity is the untranslated one, which servers since 9.6 send.
func severity(e *pgconn.PgError) string {
	if e.SeverityUnlocalized != "" {
		return e.SeverityUnlocalized
	}
	return e.Severity
}

// breaksConnection names the codes after which the fate of a statement is open
// whatever the severity: connection exceptions, operator intervention that ends
// sessions, system errors (PostgreSQL documentation, appendix A).
func breaksConnection(code string) bool {
	return strings.HasPrefix(code, "08") || strings.HasPrefix(code, "57P0") || strings.HasPrefix(code, "58")
}
