package checkers

import (
	"testing"

	"github.com/torture-harness/torture/harness/history"
)

func TestLanded(t *testing.T) {
	// The pause is [10,100].
	a := acquires("A", "gA", 0, 1)
	readA := reads("A", 2, 3, "init")
	readA.Grant = "gA"
	claimA := claims("A", "gA", 2, 3, "init")
	checkA := at("A", "check", "A-check", 4, 5)
	checkA.Grant = "gA"
	b := acquires("B", "gB", 50, 51)
	late := writes("A", "gA", "wA", "init", 101, 102)
	lateRead := reads("A", 101, 102, "init")
	lateRead.Grant = "gA"
	for _, c := range []struct {
		name, point string
		locker      string
		ops         []op
		want        int
	}{
		{"after the read", "P3", "etcd", []op{a, readA, b, late}, 1},
		{"after the claim", "P3", "etcd", []op{a, claimA, b, late}, 1},
		{"the lease did not end", "P3", "etcd", []op{a, readA, late}, 0},
		{"B got it only after the pause", "P3", "etcd", []op{a, readA, acquires("B", "gB", 99, 101), late}, 0},
		{"B's grant is not newer", "P3", "etcd", []op{a, readA, acquires("B", "gB", 1, 51), late}, 0},
		{"another client of A got it", "P3", "etcd", []op{a, readA, acquires("A", "gA2", 50, 51), writes("A", "gA2", "wA", "init", 101, 102)}, 0},
		{"the write had been sent", "P3", "etcd", []op{a, readA, b, writes("A", "gA", "wA", "init", 9, 102)}, 0},
		{"the read had not been answered", "P3", "etcd", []op{a, reads("A", 2, 11, "init"), b, late}, 0},
		{"nothing follows", "P3", "etcd", []op{a, readA, b}, 0},
		{"stopped elsewhere", "P3", "etcd", []op{a, readA, checkA, b, late}, 0},
		{"after the check", "P4", "etcd", []op{a, readA, checkA, b, late}, 1},
		{"before the check", "P4", "etcd", []op{a, readA, b, late}, 0},
		{"after the acquire", "P2", "etcd", []op{a, b, lateRead}, 1},
		{"after the write", "P8", "etcd", []op{a, readA, writes("A", "gA", "wA", "init", 4, 5), b, releases("A", "gA", 101, 102)}, 1},
		{"a renewal from elsewhere does not count", "P3", "etcd", []op{a, readA, by("renewer", renews("A", "gA", 6, 7)), b, late}, 1},
		{"without a lock", "P3", "none", []op{reads("A", 2, 3, "init"), writes("A", "", "wA", "init", 101, 102)}, 1},
		{"without a lock, not around", "P3", "none", []op{reads("A", 2, 3, "init"), writes("A", "", "wA", "init", 4, 5)}, 0},
		{"without a lock, while it read", "P3", "none", []op{reads("A", 2, 11, "init"), writes("A", "", "wA", "init", 101, 102)}, 0},
		{"without a lock, while it wrote", "P3", "none", []op{reads("A", 2, 3, "init"), writes("A", "", "wA", "init", 99, 102)}, 0},
		{"blind, while it wrote", "", "etcd", []op{a, readA, b, writes("A", "gA", "wA", "init", 99, 102)}, 0},
		{"blind, while it acquired", "", "etcd", []op{acquires("A", "gA", 5, 11), acquires("B", "gB", 50, 51), reads("A", 101, 102, "init"), writes("A", "gA", "wA", "init", 103, 104)}, 0},
		{"without a lock, blind, another client of A wrote", "", "none", []op{reads("A", 2, 3, "init"), by("other", reads("A", 50, 51, "init")), writes("A", "", "wA", "init", 101, 102)}, 0},
		{"without a lock, blind, B read only after it", "", "none", []op{reads("A", 2, 3, "init"), reads("B", 99, 101, "init"), writes("B", "", "wB", "init", 103, 104), writes("A", "", "wA", "init", 101, 102)}, 0},
		{"blind", "", "etcd", []op{a, readA, b, late}, 1},
		{"blind, before the read", "", "etcd", []op{a, b, reads("A", 101, 102, "init"), writes("A", "gA", "wA", "init", 103, 104)}, 1},
		{"blind, and it did not write", "", "etcd", []op{a, readA, b, lost(releases("A", "gA", 101, 102))}, 1},
		{"blind, after the write", "", "etcd", []op{a, readA, writes("A", "gA", "wA", "init", 4, 5), b, releases("A", "gA", 101, 102)}, 0},
		{"blind, nobody held it", "", "etcd", []op{b, acquires("A", "gA", 101, 102), reads("A", 103, 104, "init"), writes("A", "gA", "wA", "init", 105, 106)}, 0},
		{"blind, nobody took over", "", "etcd", []op{a, readA, late}, 0},
		{"blind, without a lock", "", "none", []op{reads("A", 2, 3, "init"), reads("B", 50, 51, "init"), writes("B", "", "wB", "init", 52, 53), writes("A", "", "wA", "init", 101, 102)}, 1},
		{"blind, without a lock, nobody else", "", "none", []op{reads("A", 2, 3, "init"), writes("A", "", "wA", "init", 101, 102)}, 0},
	} {
		t.Run(c.point+" "+c.name, func(t *testing.T) {
			hist := recorded(c.ops...)
			hist.Header.Locker = c.locker
			paused(hist, "p1", "A", c.point, 10, 100)
			j := judged(t, hist, nil, Config{})
			if j.Status == Errored {
				t.Fatal(j.Reasons)
			}
			if j.Pauses != 1 || j.PausesLanded != c.want {
				t.Errorf("%d of %d pauses landed, want %d", j.PausesLanded, j.Pauses, c.want)
			}
		})
	}
}

// TestPausesOf: an exposure belongs to the last pause that overlaps it, of its
// own worker unless it may be anybody's.
func TestPausesOf(t *testing.T) {
	c := &cell{pauses: []history.Pause{{ID: "p1", Worker: "A", From: 10, To: 20}, {ID: "p2", Worker: "A", From: 30, To: 40}, {ID: "p3", Worker: "B", From: 50, To: 60}}}
	c.sortPauses()
	for _, x := range []struct {
		name string
		of   []exposure
		want int
	}{
		{"one", []exposure{{worker: "A", from: 5, to: 25}}, 1},
		{"two in one", []exposure{{worker: "A", from: 5, to: 25}, {worker: "A", from: 8, to: 22}}, 1},
		{"one each", []exposure{{worker: "A", from: 5, to: 25}, {worker: "A", from: 25, to: 45}}, 2},
		{"one over two pauses", []exposure{{worker: "A", from: 5, to: 45}}, 1},
		{"before", []exposure{{worker: "A", from: 1, to: 9}}, 0},
		{"between", []exposure{{worker: "A", from: 21, to: 29}}, 0},
		{"another worker's pause", []exposure{{worker: "B", from: 5, to: 25}}, 0},
		{"anybody's", []exposure{{from: 5, to: 25}, {from: 45, to: 55}}, 2},
	} {
		if got := c.pausesOf(x.of); got != x.want {
			t.Errorf("%s: %d pauses, want %d", x.name, got, x.want)
		}
	}
}
