package checkers

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"

	"github.com/torture-harness/torture/harness/foreign"
)

// TestJepsen judges the logs of Jepsen's test of etcd that come with Porcupine
// by the model of rmw-atomic: its reads and its update on a basis are those of
// a register with compare-and-set. Values repeat there, and a compare-and-set
// may fail, neither of which our histories know; so this is a test of the model
// and not of the reduction.
func TestJepsen(t *testing.T) {
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/anishathalye/porcupine").Output()
	if err != nil {
		t.Fatalf("the module's folder is not known: %v", err)
	}
	dir := strings.TrimSpace(string(out))
	labels, err := os.ReadFile(filepath.Join(dir, "porcupine_test.go"))
	if err != nil {
		t.Fatalf("the module's tests are not there: %v", err)
	}
	counts := map[answer]int{}
	for _, l := range regexp.MustCompile(`\tcheckJepsen\(t, (\d+), (true|false)\)`).FindAllStringSubmatch(string(labels), -1) {
		n, _ := strconv.Atoi(l[1])
		log, err := foreign.ReadFile(filepath.Join(dir, "test_data", "jepsen", "etcd_"+leftPad(n)+".log"), foreign.Log, etcdTest)
		if err != nil {
			t.Fatal(err)
		}
		want := answerOf(l[2] == "true")
		counts[want]++
		if got := search(casModel(), jepsenOperations(log), time.Minute); got != want {
			t.Errorf("log %d: %v, want %v", n, got, want)
		}
	}
	if counts[legal] != 23 || counts[illegal] != 79 {
		t.Errorf("%d legal and %d illegal logs, want 23 and 79", counts[legal], counts[illegal])
	}
}

func leftPad(n int) string {
	text := "00" + strconv.Itoa(n)
	return text[len(text)-3:]
}

// casModel adds the compare-and-sets that failed, or may have, to the model.
func casModel() porcupine.Model {
	m := porcupineModel(rmwAtomicModel.legal, false, state{current: initial, newest: past})
	plain := m.Step
	m.Step = func(st, input, output any) (bool, any) {
		matches := st.(state).on(input.(*step))
		switch {
		case output == "fail":
			return !matches, st
		case output == "unknown" && !matches:
			return true, st
		}
		return plain(st, input, output)
	}
	return m
}

var etcdTest = foreign.Payloads{"read": foreign.One, "write": foreign.One, "cas": foreign.Two}

func jepsenOperations(h *foreign.History) []porcupine.Operation {
	value := func(v foreign.Value) int32 {
		n, ok := v.Int()
		if !ok {
			return initial // nil
		}
		return int32(n + 1)
	}
	var done []porcupine.Operation
	for i := range h.Operations {
		op := &h.Operations[i]
		in := &step{write: op.F != "read", basis: anyWrite, id: value(op.Value)}
		if from, to, isCAS := op.Value.Pair(); isCAS {
			in.basis, in.id = value(from), value(to)
		}
		o := porcupine.Operation{Input: in, Call: op.Call, Return: op.Return, Output: "ok"}
		switch op.Outcome {
		case foreign.Failed:
			o.Output = "fail"
		case foreign.Unknown:
			o.Output = "unknown" // it may still take effect
		}
		if in.write || op.Outcome == foreign.OK { // else it read nothing
			done = append(done, o)
		}
	}
	return done
}
