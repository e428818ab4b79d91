package cluster

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/guardian"
)

// TestMain also plays the two processes that this very program is when it is
// called with another argument: the guardian, and a run to be killed.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		switch os.Args[1] {
		case guardian.Command:
			os.Exit(guardian.Main(os.Args[2:]))
		case victimCommand:
			victim(os.Args[2:])
			os.Exit(1)
		}
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	state, err := os.MkdirTemp("", "torture-test-state-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(state)
	if err := os.Setenv("XDG_STATE_HOME", state); err != nil {
		panic(err)
	}
	return m.Run()
}

// newSpec is a spec with a guardian of its own, which at the end of the test
// must find nothing left.
func newSpec(t *testing.T) Spec {
	t.Helper()
	id := newID()
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

func newID() string { return "test-" + secret()[:10] }

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// testContextAfter is for cleanups, which run after the test's own context.
func testContextAfter(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// onProviders runs a test once per provider, both at once. Only where there is
// no container engine are containers left out.
func onProviders(t *testing.T, test func(t *testing.T, p Provider)) {
	t.Run("process", func(t *testing.T) {
		t.Parallel()
		test(t, NewProcesses())
	})
	t.Run("container", func(t *testing.T) {
		needEngine(t)
		t.Parallel()
		test(t, NewContainers())
	})
}

func needEngine(t *testing.T) {
	t.Helper()
	c, err := Engine(t.Context())
	var missing *MissingError
	if errors.As(err, &missing) || errors.Is(err, ErrEngineForbidden) {
		t.Skipf("no container engine: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

func mustStart(t *testing.T, p Provider, spec Spec) *Cluster {
	t.Helper()
	began := time.Now()
	c, err := p.Start(testContext(t), spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("started in %v: %v", time.Since(began).Round(time.Millisecond), c.Versions)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Errorf("close: %v", err)
		}
	})
	return c
}

// oneLine fails the test unless err is one line that holds all the words.
func oneLine(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("no error")
	}
	text := err.Error()
	if strings.Contains(text, "\n") {
		t.Errorf("more than one line: %q", text)
	}
	for _, word := range words {
		if !strings.Contains(text, word) {
			t.Errorf("%q does not say %q", text, word)
		}
	}
}
