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
		log, err := os.ReadFile(filepath.Join(dir, "test_data", "jepsen", "etcd_"+leftPad(n)+".log"))
		if err != nil {
			t.Fatal(err)
		}
		want := answerOf(l[2] == "true")
		counts[want]++
		if got := search(casModel(), jepsenOperations(string(log)), time.Minute); got != want {
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

var jepsenLine = regexp.MustCompile(`INFO\s+jepsen\.util - (\d+)\s+:(\w+)\s+:(\w+)\s+(.*)`)

func jepsenOperations(log string) []porcupine.Operation {
	value := func(text string) int32 {
		if text == "nil" {
			return initial
		}
		n, _ := strconv.Atoi(text)
		return int32(n + 1)
	}
	var done []porcupine.Operation
	open := map[string]porcupine.Operation{}
	for i, l := range jepsenLine.FindAllStringSubmatch(log, -1) {
		process, what, kind, args := l[1], l[2], l[3], l[4]
		if what == "invoke" {
			in := &step{write: kind != "read", basis: anyWrite}
			switch kind {
			case "write":
				in.id = value(args)
			case "cas":
				from, to, _ := strings.Cut(strings.Trim(args, "[]"), " ")
				in.basis, in.id = value(from), value(to)
			}
			open[process] = porcupine.Operation{Input: in, Call: int64(i)}
			continue
		}
		o := open[process]
		in := o.Input.(*step)
		o.Return, o.Output = int64(i), what
		switch {
		case kind == "read" && what != "ok", what == "info":
			continue // read nothing; or may still take effect
		case kind == "read":
			in.id = value(args)
		}
		done = append(done, o)
		delete(open, process)
	}
	for _, o := range open {
		if o.Input.(*step).write {
			o.Return, o.Output = future, "unknown"
			done = append(done, o)
		}
	}
	return done
}
