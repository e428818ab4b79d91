package sequential

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/foreign"
)

// TestJepsenLogs: the logs of Jepsen's test of etcd that come with Porcupine
// get the verdicts that Porcupine's own tests expect.
func TestJepsenLogs(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine").Output()
	if err != nil {
		t.Fatalf("the module's folder is not known: %v", err)
	}
	dir := strings.TrimSpace(string(out))
	labels, err := os.ReadFile(filepath.Join(dir, "porcupine_test.go"))
	if err != nil {
		t.Fatalf("the module's tests are not there: %v", err)
	}
	counts := map[Verdict]int{}
	for _, l := range regexp.MustCompile(`\tcheckJepsen\(t, (\d+), (true|false)\)`).FindAllStringSubmatch(string(labels), -1) {
		name := "etcd_" + ("00" + l[1])[len(l[1])-1:] + ".log"
		h, err := foreign.ReadFile(filepath.Join(dir, "test_data", "jepsen", name), foreign.Auto, casRegister.Payloads)
		if err != nil {
			t.Fatal(err)
		}
		r, err := Check(context.Background(), h, &casRegister, time.Minute)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want := map[string]Verdict{"true": Linearizable, "false": NotLinearizable}[l[2]]
		counts[want]++
		if r.Verdict != want {
			t.Errorf("%s: %v, want %v", name, r.Verdict, want)
		}
		if want == NotLinearizable && len(r.Keys[0].Culprits) == 0 {
			t.Errorf("%s: no culprits", name)
		}
	}
	if counts[Linearizable] != 23 || counts[NotLinearizable] != 79 {
		t.Errorf("%v logs, want 23 and 79", counts)
	}
}
