// Package doctor looks at a machine and says what torture can do on it, what is
// missing, and how to get it.
package doctor

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// State is how well something is.
type State string

// The states. Something degraded has a substitute; something missing is in the
// way of one kind of servers at least.
const (
	OK       State = "ok"
	Degraded State = "degraded"
	Missing  State = "missing"
)

// Item is one thing that was looked at.
type Item struct {
	Name   string
	State  State
	Detail string // what was found
	Fix    string // what to do, "" if there is nothing to be done
}

// The items that Ready asks for.
const (
	withProcesses  = "servers as processes"
	withContainers = "servers in containers"
)

// Check looks at everything. It changes nothing, and takes some seconds.
func Check(ctx context.Context) []Item {
	var items []Item
	for _, look := range []func(context.Context) []Item{system, toolchain, programs, engine, room, leftovers} {
		items = append(items, look(ctx)...)
	}
	return append(items, verdict(items)...)
}

// Ready says whether torture can run at all.
func Ready(items []Item) bool {
	for _, item := range items {
		if (item.Name == withProcesses || item.Name == withContainers) && item.State == OK {
			return true
		}
	}
	return false
}

// Render writes one line per item, and one more for what to do about it.
func Render(w io.Writer, items []Item) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, item := range items {
		fmt.Fprintf(t, "%s\t%s\t%s\n", item.State, item.Name, item.Detail)
		if item.Fix != "" {
			fmt.Fprintf(t, "\t\t→ %s\n", item.Fix)
		}
	}
	return t.Flush()
}

// found makes an item of an error, whose text says what to do.
func found(name, detail string, err error) Item {
	if err == nil {
		return Item{Name: name, State: OK, Detail: detail}
	}
	what, fix, ok := strings.Cut(err.Error(), ": ")
	if !ok {
		fix = ""
	}
	return Item{Name: name, State: Missing, Detail: what, Fix: fix}
}

// needs is what each kind of servers needs, by item.
var needs = map[string][]string{
	withProcesses:  {itemSystem, itemPidfd, itemProc, itemAccount, itemTemp, itemRedis, itemEtcd, itemPostgres},
	withContainers: {itemSystem, itemPidfd, itemProc, itemEngine, itemImages},
}

func verdict(items []Item) []Item {
	state := map[string]State{}
	for _, item := range items {
		state[item.Name] = item.State
	}
	var verdicts []Item
	for _, name := range []string{withProcesses, withContainers} {
		var without []string
		for _, need := range needs[name] {
			if state[need] == Missing {
				without = append(without, need)
			}
		}
		if len(without) > 0 {
			verdicts = append(verdicts, Item{Name: name, State: Missing, Detail: "not without: " + strings.Join(without, ", ")})
			continue
		}
		verdicts = append(verdicts, Item{Name: name, State: OK, Detail: "can be run"})
	}
	return verdicts
}
