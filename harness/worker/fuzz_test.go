package worker

import (
	"bufio"
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/torture-harness/torture/workloads"
)

// FuzzCommands: what a child is told is done or refused with its line, and
// comes with what it is about.
func FuzzCommands(f *testing.F) {
	for _, c := range []Command{
		{Do: doBegin}, {Do: doArm, Point: "P3", Resources: []string{"r00"}}, {Do: doDisarm}, {Do: doGo}, {Do: doFinish},
		{Do: doStep, Client: "A", ID: 1, Step: &workloads.Step{}}, {Do: doGiveUp, Client: "A"},
		{Do: doAdopt, Held: &workloads.Held{Grant: "w1-1"}}, {Do: doKept}, {Do: doLost}, {Do: doDrop},
	} {
		line, err := json.Marshal(c)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(line))
		f.Add(string(line) + "\n" + `{"do":"finish"}`)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c := &child{points: workloads.NewBreakpoints(func(string, string, string) {})}
		err := obey(bufio.NewScanner(strings.NewReader(text)), func(cmd Command) error {
			switch cmd.Do {
			case doStep:
				_ = cmd.Step.Do
			case doAdopt, doKept, doLost, doDrop:
				_ = cmd.Held.Grant
			case doBegin, doGiveUp:
			default:
				return c.point(cmd)
			}
			again, err := json.Marshal(cmd)
			if err != nil {
				t.Fatal(err)
			}
			if same, err := parseCommand(again); err != nil || !reflect.DeepEqual(cmd, same) {
				t.Fatalf("written and read again, it is another: %v\n%+v\n%+v", err, cmd, same)
			}
			return nil
		})
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Fatalf("not one line: %q", err)
		}
	})
}

// FuzzReports: whatever a child says, its supervisor hears reports that come
// with what they are about, or an error.
func FuzzReports(f *testing.F) {
	for _, r := range []Report{
		{Say: sayReady}, {Say: sayArrived, Point: "P3", Resource: "r00", Time: 1}, {Say: sayProgress, Progress: &workloads.Progress{}},
		{Say: sayError, Error: "no"}, {Say: sayDone, ID: 1, Done: &workloads.Done{}, Held: &workloads.Held{}}, {Say: sayDone, Error: "no"},
		{Say: sayHeld, Held: &workloads.Held{Grant: "w1-1"}}, {Say: sayDropped}, {Say: sayKept}, {Say: sayLost},
	} {
		line, err := json.Marshal(r)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(line) + "\n")
		f.Add(string(line) + "\n" + string(line) + "\nhello\n")
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) > 32<<10 { // what the pipe holds
			return
		}
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := in.WriteString(text); err != nil {
			t.Fatal(err)
		}
		in.Close()
		m := &member{name: "w1", ready: make(chan struct{}), drained: make(chan struct{})}
		m.listen(out, func(_ *member, r Report) {
			switch r.Say {
			case sayProgress:
				_ = r.Progress.Resource
			case sayHeld, sayDropped, sayKept, sayLost:
				_ = r.Held.Grant
			case sayDone:
				if r.Error == "" {
					_, _ = r.Done.Outcome, r.Held.Grant
				}
			}
		})
		<-m.drained
	})
}
