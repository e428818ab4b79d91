package report

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unicode"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// run is a saved run folder, read back.
type run struct {
	result.Result
	Dir   string // as its commands name it: results/<time>-compare
	Cells []*cell
}

// cell is a result's cell with the evidence it was judged by.
type cell struct {
	result.Cell
	History *history.History // empty if it could not be read
	Journal []history.JournalEntry
	Problem string // why there is no evidence to show; "" if there is

	scenes map[string]*scene
}

// load reads a run folder. A cell whose history or journal cannot be read is
// there all the same, with its Problem: its verdict is in the result, and
// stands.
func load(dir string) (*run, error) {
	text, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		return nil, fmt.Errorf("report: %w", err)
	}
	r := &run{Dir: commandPath(dir)}
	if err := json.Unmarshal(text, &r.Result); err != nil {
		return nil, fmt.Errorf("report: %s is not a result: %w", filepath.Join(dir, "result.json"), err)
	}
	if r.Schema != result.Schema {
		return nil, fmt.Errorf("report: %s has schema %q, this version reads %q", filepath.Join(dir, "result.json"), r.Schema, result.Schema)
	}
	for _, c := range r.Result.Cells {
		r.Cells = append(r.Cells, loadCell(dir, c))
	}
	return r, nil
}

func loadCell(dir string, c result.Cell) *cell {
	loaded := &cell{Cell: c, History: &history.History{}, scenes: map[string]*scene{}}
	if !filepath.IsLocal(c.Dir) {
		loaded.Problem = fmt.Sprintf("its folder, %q, is not inside the run’s", clip(c.Dir, 80))
		return loaded
	}
	h, err := history.ReadFile(filepath.Join(dir, c.Dir, "history.jsonl"))
	if err == nil {
		loaded.Journal, err = history.ReadJournal(filepath.Join(dir, c.Dir, "journal.jsonl"))
	}
	if err != nil {
		loaded.Problem = err.Error()
		return loaded
	}
	loaded.History = h
	return loaded
}

// scene is what happened on one resource of the cell.
func (c *cell) scene(resource string) *scene {
	if c.scenes[resource] == nil {
		c.scenes[resource] = newScene(c.History, c.Journal, resource)
	}
	return c.scenes[resource]
}

// commandPath is a folder as a command names it that is given where the run was
// started: relative if it is below, else whole. Symbolic links, as latest, are
// followed: tomorrow they point elsewhere.
func commandPath(dir string) string {
	resolve := func(dir string) string {
		if abs, err := filepath.Abs(dir); err == nil {
			dir = abs
		}
		if real, err := filepath.EvalSymlinks(dir); err == nil {
			dir = real
		}
		return dir
	}
	dir = resolve(dir)
	if below, err := filepath.Rel(resolve("."), dir); err == nil && filepath.IsLocal(below) {
		dir = below
	}
	if strings.ContainsFunc(dir, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-", r)
	}) {
		return "'" + strings.ReplaceAll(dir, "'", `'\''`) + "'"
	}
	return dir
}
