package checkers

import (
	"slices"
	"strings"
	"testing"
)

// TestBetween: of two clusters that contradict each other the write is to blame
// that somebody wrote.
func TestBetween(t *testing.T) {
	a, b := &write{}, &write{}
	for _, c := range []struct {
		name   string
		x, y   *write
		blamed *write
		lost   []*write
	}{
		{"two writes", a, b, a, []*write{b}},
		{"a write and the initial document", a, nil, a, nil},
		{"the initial document and a write", nil, b, b, nil},
	} {
		if v := between(&cluster{w: c.x}, &cluster{w: c.y}); v.w != c.blamed || !slices.Equal(v.lost, c.lost) {
			t.Errorf("%s: %+v", c.name, v)
		}
	}
}

// TestJournalledRegister: one violation for each write that is applied again,
// and one for an order that clients cannot have seen.
func TestJournalledRegister(t *testing.T) {
	e := gather(recorded(reads("A", 1, 2, "init"), writes("A", "", "wA", "init", 3, 4), reads("B", 5, 6, "wA"), writes("B", "", "wB", "wA", 7, 8),
		reads("C", 5, 6, "wA"), unknownOp(writes("C", "", "wC", "wA", 20, 21)), observed(9, 10, "wB")))[0]
	for _, c := range []struct {
		name string
		walk []string
		want []string
	}{
		{"as it was", []string{"wA", "wB"}, nil},
		{"an unseen one behind", []string{"wA", "wB", "wC"}, nil},
		{"an unseen one before it was called", []string{"wA", "wC", "wB"}, []string{"wB"}},
		{"an unseen one twice", []string{"wA", "wB", "wC", "wC"}, []string{"wC"}},
		{"twice in a row", []string{"wA", "wA", "wB"}, []string{"wA"}},
		{"once more at the end", []string{"wA", "wB", "wA"}, []string{"wA"}},
		{"turned round", []string{"wB", "wA"}, []string{"wA"}},
	} {
		var walk []*write
		for _, id := range c.walk {
			walk = append(walk, e.byID[id])
		}
		var got []string
		for _, v := range journalledRegister(e, walk) {
			got = append(got, v.w.op.WriteID)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestRegisterFirst: what is no register at all is told as that, whatever is
// asked, and nothing newer is named.
func TestRegisterFirst(t *testing.T) {
	h := recorded(acquires("A", "gA", 1, 2), reads("A", 3, 4, "init"), writes("A", "gA", "wA", "init", 5, 6), observed(7, 8, "wA"), observed(9, 10, "init"),
		acquires("B", "gB", 11, 12), reads("B", 13, 14, "wA"), writes("B", "gB", "wB", "wA", 15, 16), observed(17, 18, "wB"), observed(19, 20, "wA"))
	cs := clusters(gather(h)[0])
	want := decideRegister(cs)
	if want.answer != illegal || len(want.found) != 2 {
		t.Fatalf("the register: %+v", want)
	}
	for _, m := range []*model{&staleOverwriteModel, &fenceOrderModel} {
		got := m.decide(cs)
		same := slices.EqualFunc(got.found, want.found, func(a, b violation) bool { return a.w == b.w && a.newest == b.newest && slices.Equal(a.lost, b.lost) })
		if got.answer != illegal || !same {
			t.Errorf("%s: %+v, want %+v", m.property, got, want)
		}
		for _, v := range got.found {
			if text := m.tell(v).example.Text; !strings.Contains(text, v.w.op.WriteID) || !strings.Contains(text, "newer") {
				t.Errorf("%s: %q", m.property, text)
			}
		}
	}
}
