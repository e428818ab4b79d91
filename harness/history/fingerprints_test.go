package history

import (
	"strconv"
	"testing"
)

// TestFingerprints: what was put is found with its mark, nothing else is, and
// none takes much more than its eight bytes.
func TestFingerprints(t *testing.T) {
	const n = 100_000
	f := newFingerprints()
	for i := range n {
		h := f.of(useRead, "client", strconv.Itoa(i))
		f.put(h, 0)
		f.put(h, mark(h))
	}
	for i := range n {
		h := f.of(useRead, "client", strconv.Itoa(i))
		if m, there := f.get(h); !there || m != mark(h) {
			t.Fatalf("%d: mark %d, there %v", i, m, there)
		}
		for _, other := range []uint64{f.of(useWrite, "client", strconv.Itoa(i)), f.of(useRead, strconv.Itoa(i), "client"), f.of(useRead, "client"+strconv.Itoa(i))} {
			if _, there := f.get(other); there {
				t.Fatalf("%d: something else was found", i)
			}
		}
	}
	slots, used := 0, 0
	for _, s := range f.shards {
		slots, used = slots+len(s.slots), used+s.used
	}
	if used != n || slots > n*3/2 {
		t.Errorf("%d in %d slots, want %d in at most %d", used, slots, n, n*3/2)
	}
}

func TestIndex(t *testing.T) {
	keys := []string{}
	x := newIndex(func(i int) string { return keys[i] })
	for i := range 1000 {
		keys = append(keys, strconv.Itoa(i%700))
		x.add(i)
	}
	for i := range 700 {
		want := i
		if i < 300 {
			want = i + 700 // the last one counts
		}
		if at, there := x.find(strconv.Itoa(i)); !there || at != want {
			t.Errorf("%d is at %d (%v), want %d", i, at, there, want)
		}
	}
	if _, there := x.find("700"); there {
		t.Error("found what was never added")
	}
}
