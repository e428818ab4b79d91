package guardian

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/torture-harness/torture/harness/guardian/pidfd"
)

// entry is one line of a ledger. Lines are only ever appended; a later line
// may take back an earlier one.
type entry struct {
	Kind  string `json:"kind"`
	Boot  string `json:"boot,omitempty"`  // run, process: the boot in which the pid means something
	Pid   int    `json:"pid,omitempty"`   // run, process, gone
	Start uint64 `json:"start,omitempty"` // run, process, gone
	What  string `json:"what,omitempty"`  // process: for the reader
	Path  string `json:"path,omitempty"`  // directory, removed, program
	Label string `json:"label,omitempty"` // containers, no-containers
	Host  string `json:"host,omitempty"`  // containers: the engine's address, "" for the default one
}

// The kinds of entry.
const (
	kindRun          = "run"           // who wrote this ledger
	kindProcess      = "process"       // a process to continue and kill
	kindGone         = "gone"          // it has ended
	kindProgram      = "program"       // what runs inside the directories
	kindDirectory    = "directory"     // a directory to remove, with everything that works in it
	kindRemoved      = "removed"       // it has been
	kindContainers   = "containers"    // a label whose containers are to be removed
	kindNoContainers = "no-containers" // they have been
	kindDone         = "done"          // nothing is left
)

// holdings is what a ledger says there still is.
type holdings struct {
	Boot       string
	Owner      pidfd.Target // the process that wrote the ledger
	Processes  map[pidfd.Target]string
	Programs   []string
	Dirs       []string
	Containers map[string]string // label → address of the engine
	Done       bool
}

func newHoldings() *holdings {
	return &holdings{Processes: map[pidfd.Target]string{}, Containers: map[string]string{}}
}

func (h *holdings) apply(e entry) {
	t := pidfd.Target{Pid: e.Pid, Start: e.Start}
	switch e.Kind {
	case kindRun:
		h.Boot, h.Owner = e.Boot, t
	case kindProcess:
		h.Processes[t] = e.What
	case kindGone:
		delete(h.Processes, t)
	case kindProgram:
		if !slices.Contains(h.Programs, e.Path) {
			h.Programs = append(h.Programs, e.Path)
		}
	case kindDirectory:
		h.Dirs = append(h.Dirs, e.Path)
	case kindRemoved:
		h.Dirs = slices.DeleteFunc(h.Dirs, func(d string) bool { return d == e.Path })
	case kindContainers:
		h.Containers[e.Label] = e.Host
	case kindNoContainers:
		delete(h.Containers, e.Label)
	case kindDone:
		h.Done = true
	}
}

// readLedger reads a ledger to its end. A torn last line, of a writer killed in
// its write(2), is no entry: what it was about does not exist yet.
func readLedger(path string) (*holdings, error) {
	content, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	h := newHoldings()
	lines := bytes.SplitAfter(content, []byte("\n"))
	for i, line := range lines {
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		var e entry
		if err := json.Unmarshal(line, &e); err != nil {
			return nil, fmt.Errorf("%s line %d: %w", path, i+1, err)
		}
		h.apply(e)
	}
	return h, nil
}
