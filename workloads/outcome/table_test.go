package outcome_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/redis/go-redis/v9"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads/outcome"
)

// The tables once more, with errors made by hand: every row and every code, in
// less time than a server takes to start. That servers do give these answers is
// what the other tests show.

var (
	refusal   = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	noRoute   = &net.OpError{Op: "dial", Net: "tcp", Err: syscall.EHOSTUNREACH}
	resetRead = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
)

func wrapped(err error) error { return fmt.Errorf("update r00: %w", err) }

type entry struct {
	name string
	err  error
	want history.Outcome
}

func compare(t *testing.T, table func(error) history.Outcome, entries []entry) {
	t.Helper()
	for _, e := range entries {
		for _, err := range []error{e.err, wrapped(e.err)} {
			if e.err == nil {
				err = nil
			}
			if got := table(err); got != e.want {
				t.Errorf("%s: %v is %q, want %q", e.name, err, got, e.want)
			}
		}
	}
}

func TestTableOfRedis(t *testing.T) {
	compare(t, outcome.Redis, []entry{
		{"done", nil, history.OK},
		{"nothing", redis.Nil, history.OK},
		{"a refused dial", refusal, history.Fail},
		{"refused without saying by whom", syscall.ECONNREFUSED, history.Fail},
		{"no route", noRoute, history.Fail},
		{"a closed client", redis.ErrClosed, history.Fail},
		{"no connection in the pool", redis.ErrPoolTimeout, history.Fail},
		{"an error reply", redisReply("WRONGTYPE Operation against a key"), history.Fail},
		{"an error reply that the library knows", redis.TxFailedErr, history.Fail},
		{"reset", resetRead, history.Info},
		{"end of file", io.EOF, history.Info},
		{"a deadline", context.DeadlineExceeded, history.Info},
		{"cancelled", context.Canceled, history.Info},
		{"anything else", errors.New("odd"), history.Info},
	})
}

// redisReply is an error as a server says it.
type redisReply string

func (r redisReply) Error() string { return string(r) }
func (redisReply) RedisError()     {}

func TestTableOfPostgres(t *testing.T) {
	server := func(severity, code string) error {
		return &pgconn.PgError{Severity: "FEHLER", SeverityUnlocalized: severity, Code: code}
	}
	entries := []entry{
		{"done", nil, history.OK},
		{"FATAL at the dial", connectError(t), history.Fail},
		{"a refused dial", refusal, history.Fail},
		{"no route", noRoute, history.Fail},
		{"nothing was sent", unsent{true}, history.Fail},
		{"something was sent", unsent{false}, history.Info},
		{"an old server's ERROR", &pgconn.PgError{Severity: "ERROR", Code: "23505"}, history.Fail},
		{"an old server's FATAL", &pgconn.PgError{Severity: "FATAL", Code: "23505"}, history.Info},
		{"translated, the untranslated word counts", &pgconn.PgError{Severity: "ERROR", SeverityUnlocalized: "FATAL", Code: "23505"}, history.Info},
		{"reset", resetRead, history.Info},
		{"cut", io.ErrUnexpectedEOF, history.Info},
		{"a deadline", context.DeadlineExceeded, history.Info},
		{"cancelled", context.Canceled, history.Info},
		{"anything else", errors.New("odd"), history.Info},
	}
	for _, code := range []string{"23505", "40001", "42501", "57014", "25P03", "55P03", "00800", "10857", "5757P", "98580"} {
		entries = append(entries,
			entry{"ERROR", server("ERROR", code), history.Fail},
			entry{"FATAL", server("FATAL", code), history.Info},
			entry{"PANIC", server("PANIC", code), history.Info})
	}
	for _, code := range []string{"08000", "08006", "08P01", "57P01", "57P05", "58000", "58P01"} {
		entries = append(entries,
			entry{"ERROR after which all is open", server("ERROR", code), history.Info},
			entry{"FATAL", server("FATAL", code), history.Info})
	}
	compare(t, outcome.Postgres, entries)
}

// connectError is the library's own: nothing else can make one.
func connectError(t *testing.T) error {
	t.Helper()
	config, err := pgconn.ParseConfig("host=nowhere sslmode=disable")
	must(t, err)
	config.LookupFunc = func(context.Context, string) ([]string, error) { return []string{"nowhere"}, nil }
	config.DialFunc = func(context.Context, string, string) (net.Conn, error) { return nil, errors.New("not now") }
	_, err = pgconn.ConnectConfig(context.Background(), config)
	if !errorAs[*pgconn.ConnectError](err) {
		t.Fatalf("%T %v", err, err)
	}
	return err
}

type unsent struct{ safe bool }

func (unsent) Error() string       { return "the library gave up" }
func (u unsent) SafeToRetry() bool { return u.safe }

func TestTableOfEtcd(t *testing.T) {
	entries := []entry{
		{"done", nil, history.OK},
		{"a refused dial", refusal, history.Fail},
		{"no route", noRoute, history.Fail},
		{"the lease is gone", rpctypes.ErrLeaseNotFound, history.Fail},
		{"compacted", rpctypes.ErrCompacted, history.Fail},
		{"no leader", rpctypes.ErrNoLeader, history.Info},
		{"the leader has changed", rpctypes.ErrLeaderChanged, history.Info},
		{"timed out in the server", rpctypes.ErrTimeout, history.Info},
		{"timed out in the server, which lost its leader", rpctypes.ErrTimeoutDueToLeaderFail, history.Info},
		{"the balancer has nobody", status.Error(codes.Unavailable, "there is no address available"), history.Fail},
		{"the balancer has no connection", status.Error(codes.Unavailable, "there is no connection available"), history.Fail},
		{"the dial failed", status.Error(codes.Unavailable, `connection error: desc = "transport: Error while dialing: dial tcp"`), history.Fail},
		{"the same words of a request that was sent", status.Error(codes.Unknown, "Error while dialing"), history.Info},
		{"the connection broke", status.Error(codes.Unavailable, "error reading from server: EOF"), history.Info},
		{"reset", resetRead, history.Info},
		{"a deadline", context.DeadlineExceeded, history.Info},
		{"cancelled", context.Canceled, history.Info},
		{"anything else", errors.New("odd"), history.Info},
	}
	refuses := map[codes.Code]bool{
		codes.NotFound: true, codes.AlreadyExists: true, codes.InvalidArgument: true, codes.FailedPrecondition: true,
		codes.OutOfRange: true, codes.PermissionDenied: true, codes.Unauthenticated: true, codes.Unimplemented: true, codes.ResourceExhausted: true,
	}
	for code := codes.Canceled; code <= codes.Unauthenticated; code++ {
		want := history.Info
		if refuses[code] {
			want = history.Fail
		}
		entries = append(entries, entry{code.String(), status.Error(code, "because"), want})
	}
	compare(t, outcome.Etcd, entries)
}
