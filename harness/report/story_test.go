package report

import (
	"strings"
	"testing"

	"github.com/torture-harness/torture/harness/result"
)

// staged is one made-up cell, read back.
func staged(t *testing.T, strategy, fault string) *cell {
	t.Helper()
	dir := t.TempDir()
	c := loadCell(dir, shootCell(t, dir, strategy, fault))
	if c.Problem != "" {
		t.Fatal(c.Problem)
	}
	return c
}

func TestStories(t *testing.T) {
	for _, one := range []struct {
		strategy, fault string
		want            []string
	}{
		{"setnx", "pause-holder", []string{
			"w1 got the lock at 0.00 s and read v2. It was stopped at 0.21 s. w1’s lease ended at 1.00 s. " +
				"w2 got the lock at 1.02 s, read v2 and wrote v3 at 1.04 s. " +
				"w3 got the lock at 1.15 s, read v3 and wrote v4 at 1.16 s. " +
				"w1 went on at 2.20 s. It wrote v5 at 2.21 s, computed from v2. PostgreSQL accepted it. " +
				"w2’s and w3’s changes (v3 and v4) are lost. The lock did its part: it was never granted to two at once.",
		}},
		{"etcd-fenced", "pause-holder", []string{
			"w1 got the lock at 0.00 s (token 42) and read v2. It was stopped at 0.21 s. w1’s lease ran out at 1.00 s; it had been removed by 1.34 s. " +
				"w2 got the lock at 1.34 s (token 43), read v2 and wrote v3 at 1.36 s. " +
				"w1 went on at 2.20 s. It tried to write at 2.21 s, computed from v2. PostgreSQL refused it. " +
				"Nothing is lost: the row had already accepted token 43, and 42 is lower.",
			"w1 got the lock at 0.00 s (token 52) and read v1. It was stopped at 0.20 s. w1’s lease ran out at 1.00 s; it had been removed by 1.34 s. " +
				"w2 got the lock at 1.34 s (token 53) and read v1. " +
				"w1 went on at 2.19 s. It wrote v2 at 2.21 s, late. PostgreSQL accepted it, for 53 had not written yet. " +
				"w2 wrote v3 at 2.26 s, computed from v1: it overwrote v2 without having seen it. " +
				"w1’s change (v2) is lost. The tokens came in order, 52 and then 53, so there was nothing for the fence to refuse: w2 had read before w1’s late write arrived.",
		}},
		{"etcd-claim", "pause-holder", []string{
			"w1 got the lock at 0.00 s (token 42) and read v2, raising the fence to 42. It was stopped at 0.21 s. w1’s lease ran out at 1.00 s; it had been removed by 1.34 s. " +
				"w2 got the lock at 1.34 s (token 43), read v2, raising the fence to 43 and wrote v3 at 1.36 s. " +
				"w1 went on at 2.20 s. It tried to write at 2.21 s, computed from v2. PostgreSQL refused it. " +
				"Nothing is lost: w2’s claim had already raised the row’s fence to 43, and w1 came with 42.",
		}},
		{"version-cas", "pause-holder", []string{
			"w1 read v2 at 0.00 s. It was stopped at 0.21 s. w2 read v2 at 0.30 s and wrote v3 at 0.31 s. " +
				"w1 went on at 2.20 s. It tried to write at 2.21 s, computed from v2. PostgreSQL refused it. " +
				"Nothing is lost: the row was no longer the one that w1 had read.",
		}},
		{"setnx", "none", nil},
	} {
		stories := tell(staged(t, one.strategy, one.fault))
		if len(stories) != len(one.want) {
			t.Errorf("%s under %s has %d stories, not %d", one.strategy, one.fault, len(stories), len(one.want))
			continue
		}
		for i, s := range stories {
			if got := s.Sentences(); got != one.want[i] {
				t.Errorf("%s under %s:\n got %s\nwant %s", one.strategy, one.fault, got, one.want[i])
			}
		}
	}
}

// Of a violation whose operations are not in the history there is still the
// sentence that the checker wrote.
func TestAnomalyWithoutOperationsIsTold(t *testing.T) {
	c := staged(t, "setnx", "pause-holder")
	for p, f := range c.Properties {
		for i := range f.Examples {
			f.Examples[i].Culprit, f.Examples[i].Ops, f.Examples[i].Text = "gone", []string{"gone"}, "what the checker said"
		}
		c.Properties[p] = f
	}
	stories := tell(c)
	if len(stories) != 1 || stories[0].Moral != "what the checker said" || stories[0].Picture != nil {
		t.Errorf("the stories are %+v", stories)
	}
}

func TestPictureIsToScale(t *testing.T) {
	p := tell(staged(t, "setnx", "pause-holder"))[0].Picture
	perSecond := float64(p.Right-p.Left) / (float64(p.to-p.from) / 1e9)
	want := map[string]float64{"pause": 1.990, "lease a0": 1.0}
	for _, b := range p.Bars {
		if seconds, ok := want[b.Class]; ok {
			if got := float64(b.W) / perSecond; got < seconds-0.003 || got > seconds+0.003 {
				t.Errorf("the %s is %.3f s long, not %.3f", b.Class, got, seconds)
			}
			delete(want, b.Class)
		}
	}
	for class := range want {
		t.Errorf("there is no %s", class)
	}
	// The overwritten document ends where the culprit's begins.
	var last, culprit bar
	for _, b := range p.Bars {
		if strings.HasPrefix(b.Class, "version") {
			last, culprit = culprit, b
		}
	}
	if culprit.Class != "version culprit" || culprit.X-(last.X+last.W) > 0.01 {
		t.Errorf("the store's lane ends with %+v, %+v", last, culprit)
	}
	if p.Arc == nil || p.Arc.Label.Text != "replaces v4, which w1 had never read" {
		t.Errorf("the arrow is %+v", p.Arc)
	}
}

func TestPauseThatNeverEndsIsDrawnToTheEdge(t *testing.T) {
	dir := t.TempDir()
	f := newFilm(t, "setnx", "pause-holder", "r00")
	f.stalePause("r00", 400, 1020)
	f.pause("f1", "w3", 2500, 9000, "pause-holder")
	f.events = f.events[:len(f.events)-2] // it was never let go on
	f.see(4000)
	f.save(dir)
	c := loadCell(dir, judge(t, dir, ".", f, promises("setnx", "pause-holder")))
	for _, b := range tell(c)[0].Picture.Bars {
		if b.Class == "pause" {
			if end := b.X + b.W; end != laneRight || !strings.Contains(b.Title, "never went on") {
				t.Errorf("it ends at %v: %s", end, b.Title)
			}
			return
		}
	}
	t.Error("there is no pause")
}

func TestMarks(t *testing.T) {
	for _, one := range []struct {
		strategy, fault string
		want            string
	}{
		{"setnx", "none", "✓ one holder at a time | ✓ no stale write | ✓ no lost update | ✓ as promised"},
		{"setnx", "pause-holder", "✓ one holder at a time | ✗ stale write ×4 | ✓ as predicted"},
		{"etcd-fenced", "pause-holder", "✓ one holder at a time | ✓ no stale write | ! lost update ×2, as predicted | ✓ as promised"},
		{"version-cas", "pause-random", "– no lock | ✓ no stale write | ✓ no lost update | ✓ as promised"},
	} {
		dir := t.TempDir()
		if got := spoken(shootCell(t, dir, one.strategy, one.fault)); got != one.want {
			t.Errorf("%s under %s: %s, not %s", one.strategy, one.fault, got, one.want)
		}
	}
}

func spoken(c result.Cell) string {
	m := marksOf(c)
	var words []string
	for _, one := range append(m.all(), m.Promise) {
		words = append(words, one.Sign()+" "+one.Text)
	}
	return strings.Join(words, " | ")
}

// In the story of a late write it is that write which is marked, in words and
// picture; the rightful holder could not know of it. And no etcd lease is
// drawn as if it began before its holder had the lock.
func TestLateWriteIsTheMarkedOne(t *testing.T) {
	st := tell(staged(t, "etcd-fenced", "pause-holder"))[1]
	for _, s := range st.Steps {
		if s.Tone == bad && s.Actor != "w1" {
			t.Errorf("%s %s is marked", s.Actor, s.Verb)
		}
	}
	var marked []string
	for _, g := range st.Picture.Marks {
		if g.Class == "culprit" {
			marked = append(marked, g.Title)
		}
	}
	if len(marked) != 1 || !strings.HasPrefix(marked[0], "v2 by w1") {
		t.Errorf("the picture marks %q", marked)
	}
	if a := st.Picture.Arc; a == nil || a.Class != "warn" || a.Label.Text != "v3 overwrites v2, which w2 had not seen" {
		t.Errorf("the arrow is %+v", a)
	}
	leases := 0
	for _, b := range st.Picture.Bars {
		if b.Class != "lease a1" {
			continue
		}
		leases++
		for _, hold := range st.Picture.Bars {
			if hold.Class == "hold a1" && hold.X != b.X {
				t.Errorf("the lease begins at %v, the lock was held from %v: %s", b.X, hold.X, b.Title)
			}
		}
	}
	if leases != 1 {
		t.Errorf("%d leases of the new holder", leases)
	}
}
