package cluster

import (
	"context"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/guardian"
)

// TestMain also plays the guardian, which is the program that runs called with
// another argument.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == guardian.Command {
		os.Exit(guardian.Main(os.Args[2:]))
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	signal.Ignore(syscall.SIGPIPE)
	state, err := os.MkdirTemp("", "torture-test-state-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)
	os.Setenv("XDG_STATE_HOME", state)
	return m.Run()
}

// newSpec is a spec with a guardian of its own, which at the end of the test
// must find nothing left.
func newSpec(t *testing.T) Spec {
	t.Helper()
	id := strings.ToLower(secret()[:10])
	g, err := guardian.Open(id)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Close(); err != nil {
			t.Errorf("something was left: %v", err)
		}
	})
	return Spec{Dir: t.TempDir(), RunID: id, Guardian: g, Log: t.Output()}
}

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
