package explore

import (
	"fmt"
	"os"
	"testing"

	"github.com/torture-harness/torture/harness/cluster/clustertest"
	"github.com/torture-harness/torture/harness/worker"
)

// TestMain also plays the worker processes.
func TestMain(m *testing.M) {
	os.Exit(clustertest.Main(m, map[string]func() int{"worker": func() int {
		if err := worker.Main(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		return 0
	}}))
}
