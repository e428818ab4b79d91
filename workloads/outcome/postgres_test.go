package outcome_test

import (
	"context"
	"errors"
	"io"
	"net/url"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/internal/await"
	"github.com/torture-harness/torture/workloads/outcome"
)

// postgres is one real server with the tables that the rows need.
type postgres struct {
	*cluster.Server
	dsn string
}

const tables = `
CREATE TABLE item (id int PRIMARY KEY, n int NOT NULL DEFAULT 0 CHECK (n >= 0));
INSERT INTO item VALUES (1);
CREATE TABLE pet (id int PRIMARY KEY, item int REFERENCES item DEFERRABLE INITIALLY DEFERRED);
CREATE ROLE reader LOGIN PASSWORD 'secret';
GRANT SELECT ON item TO reader;`

func TestPostgres(t *testing.T) {
	c := clustertest.Start(t, cluster.Spec{Postgres: true})
	p := postgres{c.Postgres, c.PostgresDSN()}
	_, err := p.connect(t).Exec(soon(t), tables)
	must(t, err)
	judge(t, outcome.Postgres, []row{
		{"a row was written", p.query(`INSERT INTO item VALUES (2) RETURNING id`), isNil, history.OK},

		{"unique violation", p.query(`INSERT INTO item VALUES (1) RETURNING id`), says("ERROR", "23505"), history.Fail},
		{"CHECK violation", p.query(`INSERT INTO item VALUES (3, -1) RETURNING id`), says("ERROR", "23514"), history.Fail},
		{"no permission", p.noPermission, says("ERROR", "42501"), history.Fail},
		{"serialization failure", p.serializationFailure, says("ERROR", "40001"), history.Fail},
		{"statement timeout", p.statementTimeout, says("ERROR", "57014"), history.Fail},
		{"a row came, then the commit failed", p.deferredConstraint, says("ERROR", "23503"), history.Fail},

		{"wrong password", p.dial(url.UserPassword("reader", "wrong"), "torture"), says("FATAL", "28P01"), history.Fail},
		{"no such database", p.dial(url.UserPassword("reader", "secret"), "nowhere"), says("FATAL", "3D000"), history.Fail},
		{"the end of a context at the dial", p.dialStopped, errorAs[*pgconn.ConnectError], history.Fail},
		{"refused dial", p.dialKilled, errorIs(syscall.ECONNREFUSED), history.Fail},
		{"a connection that is closed", p.closedConnection, pgconn.SafeToRetry, history.Fail},
		{"a context that has ended before", p.endedContext, pgconn.SafeToRetry, history.Fail},

		{"ERROR of class 08", p.wrongBind, says("ERROR", "08P01"), history.Info},
		{"ERROR of class 57P0", p.query(`DO $$ BEGIN RAISE EXCEPTION 'gone' USING ERRCODE = '57P01'; END $$`), says("ERROR", "57P01"), history.Info},
		{"ERROR of class 58", p.query(`SELECT length(pg_read_file('/nowhere'))`), says("ERROR", "58P01"), history.Info},
		{"the session was ended by an administrator", p.terminated, says("FATAL", "57P01"), history.Info},
		{"the session was ended for idling", p.idled, says("FATAL", "57P05"), history.Info},
		{"the session was ended in a transaction", p.idledInTransaction, says("FATAL", "25P03"), history.Info},
		{"the server was killed in flight", p.killedInFlight, errorIs(io.ErrUnexpectedEOF), history.Info},
		{"the end of a context in flight", p.contextEndsInFlight, errorIs(context.Canceled), history.Info},
	})
	t.Run("a row is not yet a commit", p.rowIsNotYetACommit)
}

// A commit can fail after the row that RETURNING promised has been read. Only
// the end of the answer tells.
func (p postgres) rowIsNotYetACommit(t *testing.T) {
	conn, ctx := p.connect(t), soon(t)
	rows, err := conn.Query(ctx, `INSERT INTO pet VALUES (1, 99) RETURNING id`)
	must(t, err)
	var id int
	if !rows.Next() || rows.Scan(&id) != nil || id != 1 {
		t.Fatalf("no row came: %v", rows.Err())
	}
	if got := outcome.Postgres(rows.Err()); got != history.OK {
		t.Fatalf("the failure was known before the end: %v", rows.Err())
	}
	rows.Close()
	if got := outcome.Postgres(rows.Err()); got != history.Fail {
		t.Errorf("%v is %q, want %q", rows.Err(), got, history.Fail)
	}
	var left int
	must(t, p.connect(t).QueryRow(ctx, `SELECT count(*) FROM pet`).Scan(&left))
	if left != 0 {
		t.Error("the row is there: the failure was none")
	}
}

func says(severity, code string) func(error) bool {
	return func(err error) bool {
		var e *pgconn.PgError
		return errors.As(err, &e) && e.SeverityUnlocalized == severity && e.Code == code
	}
}

func errorIs(target error) func(error) bool {
	return func(err error) bool { return errors.Is(err, target) }
}

func errorAs[T error](err error) bool {
	var target T
	return errors.As(err, &target)
}

func (p postgres) connect(t *testing.T) *pgx.Conn {
	t.Helper()
	return p.connectTo(t, p.dsn)
}

func (p postgres) connectTo(t *testing.T, dsn string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(soon(t), dsn)
	must(t, err)
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	return conn
}

// as is the connection string of somebody else.
func (p postgres) as(who *url.Userinfo, database string) string {
	u := url.URL{Scheme: "postgres", User: who, Host: p.Addr, Path: "/" + database, RawQuery: "sslmode=disable"}
	return u.String()
}

// scan is how the guards use a connection.
func scan(ctx context.Context, conn *pgx.Conn, sql string) error {
	var n int
	return conn.QueryRow(ctx, sql).Scan(&n)
}

func (p postgres) query(sql string) func(*testing.T) error {
	return func(t *testing.T) error { return scan(soon(t), p.connect(t), sql) }
}

func (p postgres) dial(who *url.Userinfo, database string) func(*testing.T) error {
	return func(t *testing.T) error {
		_, err := pgx.Connect(soon(t), p.as(who, database))
		return err
	}
}

func (p postgres) noPermission(t *testing.T) error {
	reader := p.connectTo(t, p.as(url.UserPassword("reader", "secret"), "torture"))
	must(t, scan(soon(t), reader, `SELECT n FROM item WHERE id = 1`))
	return scan(soon(t), reader, `UPDATE item SET n = 1 WHERE id = 1 RETURNING id`)
}

func (p postgres) serializationFailure(t *testing.T) error {
	ctx, first, second := soon(t), p.connect(t), p.connect(t)
	_, err := first.Exec(ctx, `BEGIN ISOLATION LEVEL REPEATABLE READ`)
	must(t, err)
	must(t, scan(ctx, first, `SELECT n FROM item WHERE id = 1`)) // takes the snapshot
	must(t, scan(ctx, second, `UPDATE item SET n = n + 1 WHERE id = 1 RETURNING id`))
	return scan(ctx, first, `UPDATE item SET n = n + 1 WHERE id = 1 RETURNING id`)
}

func (p postgres) statementTimeout(t *testing.T) error {
	conn := p.connect(t)
	_, err := conn.Exec(soon(t), `SET statement_timeout = '50ms'`)
	must(t, err)
	return scan(soon(t), conn, `SELECT 1 FROM pg_sleep(60)`)
}

func (p postgres) deferredConstraint(t *testing.T) error {
	return scan(soon(t), p.connect(t), `INSERT INTO pet VALUES (1, 99) RETURNING id`)
}

func (p postgres) dialStopped(t *testing.T) error {
	p.stopped(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	dialled := make(chan error, 1)
	go func() {
		_, err := pgx.Connect(ctx, p.dsn)
		dialled <- err
	}()
	await.Sent(t, p.Addr, 1)
	cancel()
	return <-dialled
}

func (p postgres) dialKilled(t *testing.T) error {
	must(t, p.Kill(soon(t)))
	t.Cleanup(func() { must(t, p.Restart(soon(t))) })
	_, err := pgx.Connect(soon(t), p.dsn)
	return err
}

func (p postgres) closedConnection(t *testing.T) error {
	conn := p.connect(t)
	must(t, conn.Close(soon(t)))
	return scan(soon(t), conn, `UPDATE item SET n = 7 WHERE id = 1 RETURNING id`)
}

func (p postgres) endedContext(t *testing.T) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return scan(ctx, p.connect(t), `UPDATE item SET n = 7 WHERE id = 1 RETURNING id`)
}

// wrongBind leaves out a parameter, which the libraries above this one notice
// themselves.
func (p postgres) wrongBind(t *testing.T) error {
	_, err := p.connect(t).PgConn().ExecParams(soon(t), `SELECT $1::int`, nil, nil, nil, nil).Close()
	return err
}

func (p postgres) terminated(t *testing.T) error {
	conn, ended := p.sleeping(t)
	var done bool
	must(t, p.connect(t).QueryRow(soon(t), `SELECT pg_terminate_backend($1)`, conn.PgConn().PID()).Scan(&done))
	return <-ended
}

func (p postgres) killedInFlight(t *testing.T) error {
	_, ended := p.sleeping(t)
	must(t, p.Kill(soon(t)))
	t.Cleanup(func() { must(t, p.Restart(soon(t))) })
	return <-ended
}

func (p postgres) contextEndsInFlight(t *testing.T) error {
	conn := p.connect(t)
	p.stopped(t)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- scan(ctx, conn, `UPDATE item SET n = 8 WHERE id = 1 RETURNING id`) }()
	await.Sent(t, p.Addr, 1)
	cancel()
	return <-ended
}

func (p postgres) idled(t *testing.T) error {
	return p.endedAfter(t, `SET idle_session_timeout = '20ms'`)
}

func (p postgres) idledInTransaction(t *testing.T) error {
	return p.endedAfter(t, `SET idle_in_transaction_session_timeout = '20ms'; BEGIN`)
}

// endedAfter sends a statement to a session that the server has ended, which
// the client does not know before.
func (p postgres) endedAfter(t *testing.T, sql string) error {
	conn, other := p.connect(t), p.connect(t)
	_, err := conn.Exec(soon(t), sql)
	must(t, err)
	p.awaitActivity(t, other, "the end of the session", conn, `NOT EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1)`)
	return scan(soon(t), conn, `UPDATE item SET n = 9 WHERE id = 1 RETURNING id`)
}

// sleeping is a connection whose statement is known to be executing.
func (p postgres) sleeping(t *testing.T) (conn *pgx.Conn, ended <-chan error) {
	t.Helper()
	conn = p.connect(t)
	result := make(chan error, 1)
	ctx := soon(t)
	go func() { result <- scan(ctx, conn, `SELECT 1 FROM pg_sleep(600)`) }()
	p.awaitActivity(t, p.connect(t), "pg_sleep", conn, `EXISTS (SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep')`)
	return conn, result
}

func (p postgres) awaitActivity(t *testing.T, observer *pgx.Conn, what string, of *pgx.Conn, condition string) {
	t.Helper()
	ctx, pid := soon(t), of.PgConn().PID()
	await.That(t, what, func() bool {
		var yes bool
		must(t, observer.QueryRow(ctx, `SELECT `+condition, pid).Scan(&yes))
		return yes
	})
}

// stopped stops the server, which has read everything, until the end of the test.
func (p postgres) stopped(t *testing.T) {
	t.Helper()
	await.Read(t, p.Addr)
	must(t, p.Stop(soon(t)))
	t.Cleanup(func() { must(t, p.Continue(soon(t))) })
}
