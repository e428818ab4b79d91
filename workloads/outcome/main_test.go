package outcome_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/history"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Main(m, nil)) }

// row is one row of an outcome table: how a real server is brought to its
// answer, what that answer must be, so that the row is the one meant, and what
// it proves.
type row struct {
	name    string
	provoke func(t *testing.T) error
	is      func(error) bool
	want    history.Outcome
}

func judge(t *testing.T, table func(error) history.Outcome, rows []row) {
	t.Helper()
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			err := r.provoke(t)
			if !r.is(err) {
				t.Fatalf("this is not the answer meant: %T %v", err, err)
			}
			if got := table(err); got != r.want {
				t.Errorf("%v is %q, want %q", err, got, r.want)
			}
		})
	}
}

func isNil(err error) bool { return err == nil }

// soon bounds what is expected to be answered.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
