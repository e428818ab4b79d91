package workloads_test

import (
	"context"
	"os"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/cluster/clustertest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Main(m, nil)) }

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
