package report

import (
	"fmt"
	"path/filepath"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// However close the events of a story come to each other and to the edges of
// its picture, no words touch.
func TestCrowdedPicturesStayReadable(t *testing.T) {
	dir := t.TempDir()
	r := result.Result{Schema: result.Schema, Name: "compare", Status: checkers.Pass}
	add := func(strategy, name string, film func(f *film)) {
		f := newFilm(t, strategy, name, "r00")
		film(f)
		f.see(9000)
		where := filepath.Join("cells", strategy+"."+name)
		f.save(filepath.Join(dir, where))
		r.Cells = append(r.Cells, judge(t, dir, where, f, checkers.Contract{}))
	}
	for _, over := range []float64{240, 1150, 1700, 2060} {
		for _, strategy := range []string{"setnx", "etcd-fenced", "etcd-claim", "version-cas"} {
			add(strategy, fmt.Sprintf("over-%.0f", over), func(f *film) {
				f.stalePause("r00", 400, over)
				f.pause("f1", "w1", 610, 2600, "pause-holder")
			})
		}
		add("etcd-fenced", fmt.Sprintf("late-%.0f", over), func(f *film) {
			f.latePause("r00", 400, over)
			f.pause("f1", "w1", 610, 2600, "pause-holder")
		})
	}
	// Many holders in between, a second pause, and an old holder that is stopped
	// at once and resumed for a moment only.
	add("etcd-plain", "many", func(f *film) {
		v := f.update("w3", "r00", 100, 40, history.InitialWrite)
		old := f.acquire("w1", "r00", 400, 123456).read(402, v)
		for i := range 9 {
			v = f.update(fmt.Sprintf("w%d", 2+i%4), "r00", 1700+float64(i)*60, int64(123457+i), v)
		}
		old.write(4400, true)
		f.pause("f1", "w1", 404, 4390, "pause-holder")
		f.pause("f2", "w3", 2500, 2540, "pause-random")
	})
	saveResult(t, dir, r)
	must(t, Write(dir))
	ctx := browser(t)
	must(t, chromedp.Do(ctx, chromedp.EmulateViewport(1400, 900), chromedp.Navigate("file://"+filepath.Join(dir, "report.html"))))
	if n := see(t, ctx, chromedp.Evaluate[int](`document.querySelectorAll("article svg").length`)); n < len(r.Cells) {
		t.Errorf("%d pictures of %d cells", n, len(r.Cells))
	}
	for _, c := range see(t, ctx, chromedp.Evaluate[[]string](collisions)) {
		t.Errorf("texts collide: %s", c)
	}
	keep(t, ctx, "crowded", "#cell-etcd-plain-many", "#cell-setnx-over-240", "#cell-etcd-fenced-late-2060", "#cell-etcd-claim-over-1700")
}
