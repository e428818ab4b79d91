// Command corpus cuts small labelled histories out of the folders of real runs:
// of each cell the one resource that shows best and shortest what the cell shows.
//
//	go run ./scripts/corpus [-to testdata/histories] [-most 3000000] results/<run>...
//
// A resource is a whole by itself: its operations, its journal, the faults and
// what was recorded of processes and clocks are kept, of reads of all rows its
// part. Nothing is cut out of its time, so every property of it can be judged.
package main

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "corpus:", err)
		os.Exit(1)
	}
}

func run() error {
	to := flag.String("to", filepath.Join("testdata", "histories"), "folder of the labelled histories")
	most := flag.Int("most", 2_800_000, "bytes in all; what is longest is left out first")
	flag.Parse()
	best := map[string]*piece{} // by name: a later run may show it shorter
	for _, dir := range flag.Args() {
		cells, err := filepath.Glob(filepath.Join(dir, "cells", "*"))
		if err != nil {
			return err
		}
		for _, cell := range cells {
			p, err := choose(cell)
			if errors.Is(err, fs.ErrNotExist) {
				continue // the run has not come that far
			}
			if err != nil {
				return err
			}
			if p != nil && (best[p.name] == nil || p.better(best[p.name])) {
				best[p.name] = p
			}
		}
	}
	var all []*piece
	size := 0
	for _, p := range best {
		all, size = append(all, p), size+p.size()
	}
	slices.SortFunc(all, func(a, b *piece) int { return cmp.Or(cmp.Compare(b.size(), a.size()), cmp.Compare(a.name, b.name)) })
	for len(all) > 0 && size > *most {
		fmt.Printf("%s is left out: %d bytes\n", all[0].name, all[0].size())
		size -= all[0].size()
		all = all[1:]
	}
	if len(all) == 0 {
		return errors.New("no cell of a real run to cut from; give folders of results/")
	}
	for _, p := range all {
		if err := p.save(*to); err != nil {
			return err
		}
	}
	fmt.Printf("%d histories, %d bytes\n", len(all), size)
	return nil
}

// choose takes the shortest resource of a cell that shows all that is violated
// in it; if none does, the one that shows most.
func choose(cell string) (*piece, error) {
	whole, err := readCell(cell)
	if err != nil {
		return nil, err
	}
	var best *piece
	for _, resource := range whole.byLength() {
		p, err := whole.cut(resource)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", cell, err)
		}
		if p != nil && (best == nil || p.better(best)) {
			best = p
		}
		if best != nil && best.showsAll(whole.violated) {
			break
		}
	}
	return best, nil
}

func (p *piece) showsAll(violated []checkers.Property) bool {
	return !slices.ContainsFunc(violated, func(v checkers.Property) bool { return p.both.Findings[v].Verdict != checkers.Violated })
}

// better: more is violated, more has been at risk (at least once), less to read.
func (p *piece) better(q *piece) bool {
	return cmp.Or(cmp.Compare(p.shows(), q.shows()), cmp.Compare(q.size(), p.size())) > 0
}

func (p *piece) size() int { return len(p.packed) + len(p.journal) }

func (p *piece) shows() int {
	n := 0
	for _, property := range checkers.Properties {
		switch f := p.both.Findings[property]; {
		case f.Verdict == checkers.Violated:
			n += 100
		case f.Verdict == checkers.Holds && f.Exposures > 0:
			n++
		}
	}
	return n
}

// judge as the tests do: one exposure suffices, nothing is promised.
func judge(h *history.History, journal []history.JournalEntry) (checkers.Judgement, error) {
	return checkers.Judge(context.Background(), h, journal, checkers.Config{MinExposures: 1})
}

// pack compresses, always to the same bytes.
func pack(text []byte) ([]byte, error) {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return out.Bytes(), nil
}

func encode(v any) ([]byte, error) {
	text, err := json.Marshal(v)
	return append(text, '\n'), err
}

func writeAll(dir string, files map[string][]byte) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}
