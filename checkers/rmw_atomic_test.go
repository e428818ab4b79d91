package checkers

import (
	"slices"
	"strings"
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

// TestLostUpdatesAreShown: by which clusters, and who is to blame.
func TestLostUpdatesAreShown(t *testing.T) {
	w := func(id string) *write {
		return &write{op: &history.Operation{WriteID: id, ID: id}, grant: &grant{}, basis: &history.Operation{ID: "read-" + id}}
	}
	cluster3 := func(b1, b2, b3 int, late int64) []*cluster {
		return []*cluster{{maxCall: past, minRet: past}, {w: w("w1"), maxCall: 50, minRet: 60, basis: b1}, {w: w("w2"), maxCall: 5, minRet: 60, basis: b2}, {w: w("w3"), maxCall: 5, minRet: late, basis: b3}}
	}
	for _, c := range []struct {
		name  string
		cs    []*cluster
		shown []int
	}{
		{"in a circle", cluster3(0, 3, 2, 60), []int{2, 3}},
		{"round a corner", cluster3(0, 1, 2, 20), []int{0, 1, 2, 3}},
		{"on one basis", cluster3(0, 0, 2, 60), []int{0, 1, 2}},
		{"one basis was left out", cluster3(outside, 0, 0, 60), []int{0, 2, 3}},
	} {
		d := decideRMWAtomic(c.cs)
		var want []*cluster
		for _, i := range c.shown {
			want = append(want, c.cs[i])
		}
		if d.answer != illegal || len(d.found) != 1 || !slices.Equal(d.found[0].because, want) || d.found[0].w != want[len(want)-1].w {
			t.Errorf("%s: %+v", c.name, d)
			continue
		}
		if text := tellLostUpdate(d.found[0]).example.Text; !strings.Contains(text, d.found[0].w.op.WriteID) {
			t.Errorf("%s: %q", c.name, text)
		}
	}
}

// TestJournalIsNotBelieved: an entry that cannot be tied to what its client
// recorded is none.
func TestJournalIsNotBelieved(t *testing.T) {
	h := recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), writes("A", "gA", "wA", "init", 4, 5), rejected(writes("A", "gA", "wR", "init", 6, 7)))
	entries := accepted(h, "wA", "wR")
	entries[0].Basis = "wR"
	resources := gather(h)
	j := readJournal(entries, resources, false)
	if j.ids["r00"]["wA"] || j.ids["r00"]["wR"] || len(j.walks["r00"]) != 0 || len(j.errors) != 2 || !j.unusable["r00"] {
		t.Errorf("%+v", j)
	}
}

// TestWalkNames: the first write of the newest grant, and what was lost if the
// basis is there.
func TestWalkNames(t *testing.T) {
	h := recorded(acquires("A", "gA", 0, 1), reads("A", 2, 3, "init"), acquires("B", "gB", 10, 11), reads("B", 12, 13, "init"), writes("B", "gB", "w1", "init", 14, 15),
		reads("B", 16, 17, "w1"), writes("B", "gB", "w2", "w1", 18, 19), writes("A", "gA", "w3", "init", 20, 21))
	e := gather(h)[0]
	found := walk(e, e.writes, &staleOverwriteModel)
	if len(found) != 1 || found[0].w.op.WriteID != "w3" || found[0].newest.op.WriteID != "w1" || len(found[0].lost) != 2 {
		t.Errorf("%+v", found)
	}
	found = walk(e, e.writes[1:], &rmwAtomicModel) // w1 is not there
	if len(found) != 2 || found[0].w.op.WriteID != "w2" || found[0].lost != nil {
		t.Errorf("%+v", found)
	}
}
