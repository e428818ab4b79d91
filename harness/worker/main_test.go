package worker

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/cluster/clustertest"
)

// babble makes a child say something that is no report before it begins.
const babble = "TORTURE_TEST_BABBLE"

// TestMain also plays the worker processes.
func TestMain(m *testing.M) {
	os.Exit(clustertest.Main(m, map[string]func() int{"worker": func() int {
		if os.Getenv(babble) != "" {
			fmt.Println("hello")
		}
		if err := Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}}))
}

// soon bounds what is expected to happen.
func soon(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	t.Cleanup(cancel)
	return ctx
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// await returns once cond holds.
func await(t *testing.T, what string, cond func() bool) {
	t.Helper()
	ctx := soon(t)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("waited in vain for: %s", what)
		}
	}
}
