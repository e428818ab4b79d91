package gate_test

import (
	"os"
	"testing"

	"github.com/torture-harness/torture/harness/cluster/clustertest"
)

func TestMain(m *testing.M) { os.Exit(clustertest.Main(m, nil)) }
