package history

import (
	"errors"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

// TestSaveAndRead: what is saved is read back, every kind and outcome.
func TestSaveAndRead(t *testing.T) {
	h, err := ReadFile(filepath.Join("..", "..", "testdata", "histories", "late-write", "history.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	op := func(id string, k Kind, o Outcome, call int64) Operation {
		x := Operation{ID: id, Process: id, Worker: "w9", Client: "w9/r00", Resource: "r00", Kind: k, Call: call, Return: call + 1, Completed: call + 1, Outcome: o}
		if o == Info {
			x.Return = Never
		}
		return x
	}
	last := h.Operations[len(h.Operations)-1].Completed
	claim := op("claim", Claim, OK, last+1)
	claim.WriteID, claim.Token, claim.Version = "init", 7, 3
	renew := op("renew", Renew, OK, last+2)
	renew.LeaseCall, renew.LeaseTTL = last, 10
	lost := op("release", Release, Lost, last+3)
	refused := op("refused", Write, Rejected, last+4)
	refused.WriteID, refused.Basis, refused.Token, refused.Version, refused.Error = "refused", "init", 7, 3, "no row"
	unknown := op("unknown", Write, Info, last+5)
	unknown.WriteID, unknown.Basis = "unknown", "init"
	attempt := op("attempt", Acquire, Fail, last+6)
	draw := op("draw", Draw, OK, last+7)
	draw.Grant, draw.Token = h.Operations[0].ID, 8
	h.Operations = append(h.Operations, claim, renew, lost, refused, unknown, attempt, draw)

	path := filepath.Join(t.TempDir(), "history.jsonl")
	if err := Save(path, h); err != nil {
		t.Fatal(err)
	}
	again, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if len(again.Operations) != len(h.Operations) {
		t.Fatalf("%d operations, want %d", len(again.Operations), len(h.Operations))
	}
	for i, got := range again.Operations {
		want := h.Operations[i]
		want.Line, want.End = got.Line, got.End
		if got != want {
			t.Errorf("read back\n%+v, want\n%+v", got, want)
		}
	}
	if !reflect.DeepEqual(again.Header, h.Header) {
		t.Errorf("header %+v, want %+v", again.Header, h.Header)
	}
}

// TestLeftOut: only what the header names may be read without being there.
func TestLeftOut(t *testing.T) {
	read := Operation{ID: "r", Process: "A", Client: "A", Resource: "r00", Kind: Read, Call: 1, Return: 2, Completed: 2, Outcome: OK, WriteID: "w1"}
	write := Operation{ID: "w2", Process: "A", Client: "A", Resource: "r00", Kind: Write, Call: 3, Return: 4, Completed: 4, Outcome: OK, WriteID: "w2", Basis: "w1"}
	for _, c := range []struct {
		name  string
		piece *Piece
		want  string // in the damage; "" for none
	}{
		{"a whole history", nil, "nobody wrote"},
		{"a piece without it", &Piece{LeftOut: []string{"w0"}}, "nobody wrote"},
		{"a piece that names it", &Piece{LeftOut: []string{"w1"}}, ""},
		{"a piece that names what is there", &Piece{LeftOut: []string{"w1", "w2"}}, "left out"},
	} {
		h := &History{File: "test", Header: Header{Piece: c.piece}, Operations: []Operation{read, write}}
		err := h.Validate()
		var damage *Damage
		if c.want == "" && err != nil || c.want != "" && (!errors.As(err, &damage) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
}
