package report

import (
	"bytes"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
)

var update = flag.Bool("update", false, "write the golden files anew")

func TestFilmsComeOutAsPredicted(t *testing.T) {
	for _, c := range shoot(t, t.TempDir()).Cells {
		if c.Status != checkers.Pass {
			t.Errorf("%s under %s: %s %v", c.Strategy, c.Fault, c.Status, c.Reasons)
		}
	}
}

func TestWriteMakesAllFilesAndChangesNone(t *testing.T) {
	dir := t.TempDir()
	shoot(t, dir)
	before := read(t, dir, "result.json")
	must(t, Write(dir))
	must(t, Write(dir)) // again, over what is there
	if read(t, dir, "result.json") != before {
		t.Error("result.json has changed")
	}
	entries, err := os.ReadDir(dir)
	must(t, err)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	if got := strings.Join(names, " "); got != "cells junit.xml report.html result.json summary.md" {
		t.Errorf("the folder has %s", got)
	}
	if size := len(read(t, dir, "report.html")); size > 2<<20 {
		t.Errorf("report.html has %d bytes", size)
	}
}

func TestSummaryIsTheGoldenOne(t *testing.T) {
	dir := t.TempDir()
	shoot(t, dir)
	must(t, Write(dir))
	got, golden := read(t, dir, "summary.md"), filepath.Join("testdata", "summary.md")
	if *update {
		must(t, os.WriteFile(golden, []byte(got), 0o644))
	}
	want, err := os.ReadFile(golden)
	must(t, err)
	if !bytes.Equal([]byte(got), want) {
		t.Errorf("summary.md is not testdata/summary.md (go test -update writes that anew):\n%s", got)
	}
}

// A cell whose evidence is gone keeps its verdict, and says what is missing.
func TestDamagedEvidenceLeavesTheVerdict(t *testing.T) {
	for name, damage := range map[string]func(cell string) error{
		"no history": func(cell string) error { return os.Remove(filepath.Join(cell, "history.jsonl")) },
		"no journal": func(cell string) error { return os.Remove(filepath.Join(cell, "journal.jsonl")) },
		"a torn history": func(cell string) error {
			return os.WriteFile(filepath.Join(cell, "history.jsonl"), []byte("{\n{}\n"), 0o644)
		},
		"an empty one": func(cell string) error { return os.Truncate(filepath.Join(cell, "history.jsonl"), 0) },
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			shoot(t, dir)
			must(t, damage(filepath.Join(dir, "cells", "setnx.pause-holder")))
			err := Write(dir)
			if err == nil || !strings.Contains(err.Error(), "setnx under pause-holder") {
				t.Errorf("the error is %v", err)
			}
			page := read(t, dir, "report.html")
			for _, want := range []string{"stale write ×4", "No evidence to show for setnx under pause-holder", `id="cell-redlock-pause-holder"`} {
				if !strings.Contains(page, want) {
					t.Errorf("the page does not say %q", want)
				}
			}
			if strings.Contains(page, `id="cell-setnx-pause-holder"`) {
				t.Error("there is a story without evidence")
			}
			if !strings.Contains(read(t, dir, "junit.xml"), `name="setnx under pause-holder"`) {
				t.Error("junit.xml lacks the cell")
			}
		})
	}
}

func TestWhatIsNoRunFolderIsAnError(t *testing.T) {
	dir := t.TempDir()
	if err := Write(dir); err == nil || !strings.Contains(err.Error(), "result.json") {
		t.Errorf("an empty folder: %v", err)
	}
	for text, want := range map[string]string{"{": "not a result", `{"schema":"torture/result/0"}`: "torture/result/0"} {
		must(t, os.WriteFile(filepath.Join(dir, "result.json"), []byte(text), 0o644))
		if err := Write(dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A folder that a cell names is not followed out of the run's.
func TestCellFoldersStayInside(t *testing.T) {
	dir := t.TempDir()
	r := shoot(t, dir)
	r.Cells[1].Dir = "../" + filepath.Base(dir) + "/" + r.Cells[1].Dir
	saveResult(t, dir, r)
	if err := Write(dir); err == nil || !strings.Contains(err.Error(), "not inside") {
		t.Errorf("the error is %v", err)
	}
}

func TestPanicIsAnError(t *testing.T) {
	err := guarded(func() error { panic("the unexpected") })
	if err == nil || !strings.Contains(err.Error(), "the unexpected") || !strings.Contains(err.Error(), "the result stands") {
		t.Errorf("the error is %v", err)
	}
}

// Whatever is missing from the evidence, stories are told of the rest.
func TestIncompleteEvidenceIsNoPanic(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, strategy := range []string{"setnx", "etcd-fenced", "etcd-claim", "version-cas"} {
		whole := staged(t, strategy, "pause-holder")
		told := 0
		for range 200 {
			c, h := *whole, *whole.History
			c.scenes, c.History, h.Operations, c.Journal = map[string]*scene{}, &h, nil, nil
			for _, op := range whole.History.Operations {
				switch random.IntN(12) {
				case 0:
					continue
				case 1:
					op.Outcome, op.Return = history.Info, history.Never
				case 2:
					op.Grant = ""
				}
				h.Operations = append(h.Operations, op)
			}
			for _, e := range whole.Journal {
				if random.IntN(12) > 0 {
					c.Journal = append(c.Journal, e)
				}
			}
			if random.IntN(4) == 0 {
				h.Faults, h.Events = nil, nil
			}
			stories := tell(&c)
			told += len(stories)
			for _, s := range stories {
				if s.Sentences() == "" {
					t.Errorf("%s: an empty story", strategy)
				}
			}
		}
		if told < 100 {
			t.Errorf("%s: only %d stories in 200 tries", strategy, told)
		}
	}
}

func read(t *testing.T, parts ...string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(parts...))
	must(t, err)
	return string(text)
}
