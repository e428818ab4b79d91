package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
)

// TestCheckPiece: a counterexample is judged by itself.
func TestCheckPiece(t *testing.T) {
	h, err := history.ReadFile(filepath.Join("..", "..", "testdata", "histories", "late-write", "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	j, err := checkers.Judge(t.Context(), h, nil, checkers.Config{})
	if err != nil {
		t.Fatal(err)
	}
	piece := j.Findings[checkers.FenceOrder].Counterexamples[0].History
	path := filepath.Join(t.TempDir(), "fence-order.r00.jsonl")
	save := func(change func(text []byte) []byte) {
		if err := history.Save(path, piece); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, change(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	save(func(text []byte) []byte { return text })
	if o := torture(t, "check", path); o.code != 1 || !strings.Contains(o.out, "fence-order of r00, in a piece of it: violated (porcupine)") || !strings.Contains(o.out, "no such order") {
		t.Errorf("exit code %d\n%s%s", o.code, o.out, o.errors)
	}
	torture(t, "check", path, "--model", "register").oneLine(t, 2, path, "leave out --model")
	save(func(text []byte) []byte {
		return bytes.ReplaceAll(text, []byte(`"fence-order"`), []byte(`"rmw-atomic"`))
	})
	if o := torture(t, "check", path); o.code != 0 && o.code != 1 || !strings.Contains(o.out, "rmw-atomic of r00") {
		t.Errorf("exit code %d\n%s%s", o.code, o.out, o.errors)
	}
	save(func(text []byte) []byte { return bytes.ReplaceAll(text, []byte(`"fence-order"`), []byte(`"progress"`)) })
	torture(t, "check", path).oneLine(t, 2, path+":1:", `"progress"`)
	save(func(text []byte) []byte {
		lines := bytes.Split(text, []byte("\n"))
		lines[3] = []byte("garbage")
		return bytes.Join(lines, []byte("\n"))
	})
	torture(t, "check", path).oneLine(t, 2, path+":4:")
}
