package checkers

import (
	"slices"
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

func ids(ops []*history.Operation) []string {
	var out []string
	for _, o := range ops {
		out = append(out, o.ID)
	}
	return out
}

// TestGather: what is tied to what, and what is left out.
func TestGather(t *testing.T) {
	drawn := func(outcome history.Outcome, id string, n, call, ret int64) op {
		o := as(outcome, at("B", history.Draw, id, call, ret))
		o.Grant, o.Token = "gB", n
		return o
	}
	under := func(grant string, o op) op { o.Grant = grant; return o }
	h := recorded(
		acquires("A", "gA", 0, 12), failed(attempt("B", 1)), acquires("B", "gB", 3, 4),
		drawn(history.OK, "draw-1", 7, 5, 6), drawn(history.Fail, "draw-2", 9, 6, 7),
		claims("B", "gB", 7, 8, "init"), under("gB", failed(reads("B", 8, 9, "init"))), under("gB", writes("B", "gB", "wB", "init", 9, 10)),
		rejected(claims("A", "gA", 12, 13, "")), under("gA", reads("A", 13, 14, "wB")), rejected(writes("A", "gA", "wA", "wB", 14, 15)),
		under("gA", lost(at("A", history.Check, "check", 15, 16))), releases("A", "gA", 16, 17),
		observed(20, 21, "wB"), in("r01", observed(20, 21, "init")),
	)
	all := gather(h)
	if len(all) != 2 || all[0].name != "r00" || all[1].name != "r01" || len(all[1].reads) != 1 {
		t.Fatalf("resources %+v", all)
	}
	e := all[0]
	for what, pair := range map[string][2][]string{
		"grants, by their returns":       {{e.grants[0].id, e.grants[1].id}, {"gB", "gA"}},
		"attempts":                       {ids(e.attempts), {"gA", "B-try-1", "gB"}},
		"claims, refused ones too":       {ids(e.claims), {"B-claim-7", "A-claim-12"}},
		"reads that saw something":       {ids(e.reads), {"B-claim-7", "A-read-13", "observer-read-20"}},
		"under gA":                       {ids(e.granted["gA"].under), {"A-claim-12", "A-read-13", "wA", "check", "A-release-16"}},
		"under gB":                       {ids(e.granted["gB"].under), {"draw-1", "draw-2", "B-claim-7", "B-read-8", "wB"}},
		"writes":                         {ids([]*history.Operation{e.writes[0].op, e.writes[1].op}), {"wB", "wA"}},
		"what a write was computed from": {ids([]*history.Operation{e.writes[0].basis, e.writes[1].basis}), {"B-claim-7", "A-read-13"}},
	} {
		if !slices.Equal(pair[0], pair[1]) {
			t.Errorf("%s: %q, want %q", what, pair[0], pair[1])
		}
	}
	if g := e.granted["gB"]; g.token != 7 {
		t.Errorf("token %d, want the one that was drawn", g.token)
	}
	for _, w := range e.writes {
		if w.due != w.op.Call {
			t.Errorf("%s was due at %d, want its call", w.op.ID, w.due)
		}
	}
	if a, b := e.writes[0], e.writes[1]; !a.effective || b.effective || !a.sent() || !b.sent() || !a.mayHaveEffect() || b.mayHaveEffect() {
		t.Errorf("effective %v %v, sent %v %v", a.effective, b.effective, a.sent(), b.sent())
	}
}

// TestGatherAPiece: a read of a write that was left out has seen nothing.
func TestGatherAPiece(t *testing.T) {
	h := recorded(reads("A", 1, 2, "w0"), writes("A", "", "wA", "w0", 3, 4), observed(5, 6, "wA"))
	h.Header.Piece = &history.Piece{LeftOut: []string{"w0"}}
	e := gather(h)[0]
	if got := ids(e.reads); !slices.Equal(got, []string{"observer-read-5"}) || e.writes[0].basis.ID != "A-read-1" {
		t.Errorf("reads %q, basis %s", got, e.writes[0].basis.ID)
	}
}

// TestReduceEndsWithTheFirstRead: an unknown write that reads saw has taken
// effect before the first of them returned. Porcupine finds that out by itself,
// and takes longer.
func TestReduceEndsWithTheFirstRead(t *testing.T) {
	e := gather(recorded(reads("A", 1, 2, "init"), unknownOp(writes("A", "", "wA", "init", 3, 4)), observed(20, 30, "wA"), observed(31, 40, "wA"),
		reads("B", 1, 2, "init"), writes("B", "", "wB", "init", 3, 90), reads("C", 50, 60, "wB"),
		reads("D", 1, 2, "init"), unknownOp(writes("D", "", "wD", "init", 3, 4))))[0]
	for id, want := range map[string]int64{"wA": 30 * ms, "wB": 90 * ms, "wD": history.Never} {
		if w := e.byID[id]; w.ret != want {
			t.Errorf("%s ends at %d, want %d", id, w.ret, want)
		}
	}
	if e.byID["wD"].effective {
		t.Error("nobody saw wD")
	}
	if e.size() != len(operations(e)) || e.size() != 8 {
		t.Errorf("size %d, %d operations, want 8", e.size(), len(operations(e)))
	}
}
