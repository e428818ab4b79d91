package sequential

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/torture-harness/torture/harness/foreign"
	"github.com/torture-harness/torture/harness/history"
)

// TestLabelled: the labelled histories of this project, written as EDN and read
// again, get the verdicts of their labels: as a register those of register, as a
// cas-register, whose writes are on their basis, those of rmw-atomic.
func TestLabelled(t *testing.T) {
	labels, err := filepath.Glob("../../testdata/histories/*/label.json")
	if err != nil || len(labels) == 0 {
		t.Fatalf("no labels: %v", err)
	}
	seen := map[Verdict]int{}
	for _, path := range labels {
		var label struct{ Clients map[string]string }
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(text, &label); err != nil {
			t.Fatal(err)
		}
		for model, property := range map[*Model]string{&register: "register", &casRegister: "rmw-atomic"} {
			want := map[string]Verdict{"holds": Linearizable, "violated": NotLinearizable}[label.Clients[property]]
			if want == "" {
				continue
			}
			h := exported(t, filepath.Join(filepath.Dir(path), "history.jsonl"), model)
			r, err := Check(context.Background(), h, model, time.Minute)
			if err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			seen[want]++
			if r.Verdict != want {
				t.Errorf("%s as %s: %v, want %v", path, model.Name, r.Verdict, want)
			}
		}
	}
	if seen[Linearizable] < 5 || seen[NotLinearizable] < 5 {
		t.Errorf("%v: too few to test anything", seen)
	}
}

// exported is a history of ours after a round through EDN.
func exported(t *testing.T, path string, m *Model) *foreign.History {
	t.Helper()
	ours := recorded(t, path)
	h, err := foreign.FromRun(ours, m.Name)
	if err != nil {
		t.Fatal(err)
	}
	var text bytes.Buffer
	if err := h.Write(&text); err != nil {
		t.Fatal(err)
	}
	again, err := foreign.Read(&text, "exported.edn", foreign.Auto, m.Payloads)
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	direct, err := Check(context.Background(), h, m, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	indirect, err := Check(context.Background(), again, m, time.Minute)
	if err != nil || indirect.Verdict != direct.Verdict {
		t.Errorf("%s: %v after export, %v before (%v)", path, indirect.Verdict, direct.Verdict, err)
	}
	return again
}

// recorded is a labelled history; the larger ones are packed.
func recorded(t *testing.T, path string) *history.History {
	t.Helper()
	packed, err := os.Open(path + ".gz")
	if errors.Is(err, os.ErrNotExist) {
		h, err := history.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	text, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	h, err := history.Parse(text, path)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// TestEqualStamps: operations of equal stamps are concurrent after export too,
// also where one process ends an operation and begins the next at that moment.
func TestEqualStamps(t *testing.T) {
	op := func(id, process string, kind history.Kind, write, basis string, call, ret int64, line int) history.Operation {
		return history.Operation{
			ID: id, Process: process, Client: process, Resource: "r", Kind: kind, WriteID: write, Basis: basis,
			Call: call, Return: ret, Completed: ret, Outcome: history.OK, Line: line, End: line + 1,
		}
	}
	// At 30 a's write returns, a calls its read, and b calls one that sees the
	// document before: it may stand before the write.
	ours := &history.History{File: "equal", Operations: []history.Operation{
		op("1", "a", history.Write, "w1", history.InitialWrite, 10, 30, 1),
		op("2", "b", history.Read, history.InitialWrite, "", 30, 40, 3),
		op("3", "a", history.Read, "w1", "", 30, 50, 5),
	}}
	h, err := foreign.FromRun(ours, register.Name)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Check(context.Background(), h, &register, time.Minute)
	if err != nil || r.Verdict != Linearizable {
		t.Errorf("%v, %v", r.Verdict, err)
	}
	// Shifted by one it is stale.
	ours.Operations[1].Call++
	if h, err = foreign.FromRun(ours, register.Name); err != nil {
		t.Fatal(err)
	}
	if r, err = Check(context.Background(), h, &register, time.Minute); err != nil || r.Verdict != NotLinearizable {
		t.Errorf("%v, %v", r.Verdict, err)
	}
}
