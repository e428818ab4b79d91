package report

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// browser opens a real browser; without one the test is skipped and says so.
func browser(t *testing.T) context.Context {
	t.Helper()
	var path string
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Skip("no chromium in PATH: the page was not opened in a browser (on Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(path), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("hide-scrollbars", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	must(t, chromedp.Do(ctx)) // starts it; its life must not hang on the deadline
	ctx, cancel = context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// trouble collects what a page must not do: complain, or ask the network.
type trouble struct {
	mu   sync.Mutex
	list []string
}

func (tr *trouble) watch(ctx context.Context, own string) error {
	return chromedp.Listen(ctx, func(event any) {
		tr.mu.Lock()
		defer tr.mu.Unlock()
		switch e := event.(type) {
		case *runtime.EventConsoleAPICalled:
			tr.list = append(tr.list, "console: "+string(e.Type))
		case *runtime.EventExceptionThrown:
			tr.list = append(tr.list, "exception: "+e.ExceptionDetails.Text)
		case *network.EventRequestWillBeSent:
			if e.Request.URL != own && !strings.HasPrefix(e.Request.URL, "data:") {
				tr.list = append(tr.list, "request: "+e.Request.URL)
			}
		}
	})
}

func (tr *trouble) seen() []string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return append([]string(nil), tr.list...)
}

// collisions finds, in every picture, two texts that lie on each other or one
// that reaches out of it.
const collisions = `(() => {
  const out = [];
  for (const svg of document.querySelectorAll("article svg")) {
    const where = svg.closest("article").id;
    const frame = svg.getBoundingClientRect();
    const all = [...svg.querySelectorAll("text")].map(t => [t.textContent, t.getBoundingClientRect()]);
    all.forEach(([text, a], i) => {
      if (a.left < frame.left - 1 || a.right > frame.right + 1 || a.top < frame.top - 1 || a.bottom > frame.bottom + 1) out.push(where + ": " + text + " reaches out");
      for (const [other, b] of all.slice(i + 1)) {
        const x = Math.min(a.right, b.right) - Math.max(a.left, b.left);
        const y = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (x > 1 && y > 3) out.push(where + ": " + text + " / " + other);
      }
    });
  }
  return out;
})()`

// overflow finds elements that are wider than the window and not inside
// something that scrolls.
const overflow = `[...document.querySelectorAll("body *")].filter(e => !e.closest(".scroll, .sr, .skip, svg, thead") && e.getBoundingClientRect().right > innerWidth + 1).map(e => e.tagName + "." + e.className + ": " + e.textContent.trim().slice(0, 40))`

func TestPageInABrowser(t *testing.T) {
	dir := t.TempDir()
	shoot(t, dir)
	must(t, Write(dir))
	ctx := browser(t)
	url := "file://" + filepath.Join(dir, "report.html")
	var tr trouble
	must(t, tr.watch(ctx, url))
	_, err := chromedp.Call(ctx, network.Enable, network.EnableParams{})
	must(t, err)

	for _, scheme := range []string{"light", "dark"} {
		for _, width := range []int64{1400, 400} {
			t.Run(fmt.Sprintf("%s %d", scheme, width), func(t *testing.T) {
				_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
					Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
				})
				must(t, err)
				must(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), chromedp.Navigate(url)))
				answer := see(t, ctx, chromedp.Text(chromedp.CSS("#answer")))
				status := see(t, ctx, chromedp.Text(chromedp.CSS(".status")))
				story := see(t, ctx, chromedp.Text(chromedp.CSS("#cell-setnx-pause-holder ol")))
				culprits := see(t, ctx, chromedp.Evaluate[int](`document.querySelectorAll("#cell-setnx-pause-holder svg .glyph.write.culprit").length`))
				touching := see(t, ctx, chromedp.Evaluate[[]string](collisions))
				wide := see(t, ctx, chromedp.Evaluate[[]string](overflow))
				if want := "Old lock holders overwrote newer data with setnx, redlock and etcd-plain. etcd-fenced refused every stale write but can still lose an update. etcd-claim and version-cas lost nothing."; strings.TrimSpace(answer) != want {
					t.Errorf("the answer reads %q", answer)
				}
				if !strings.HasPrefix(strings.ToLower(status), "pass") {
					t.Errorf("the status reads %q", status)
				}
				for _, want := range []string{"w1 got the lock", "w1 was stopped", "w1’s lease ended", "w2 got the lock", "PostgreSQL accepted it"} {
					if !strings.Contains(story, want) {
						t.Errorf("the story does not say %q: %s", want, story)
					}
				}
				if culprits != 1 {
					t.Errorf("%d writes are marked as the culprit", culprits)
				}
				for _, c := range touching {
					t.Errorf("texts collide: %s", c)
				}
				for _, w := range wide {
					t.Errorf("wider than the window: %s", w)
				}
				keep(t, ctx, fmt.Sprintf("%s-%d", scheme, width), "header", "main", "#matrix", "#again",
					"#cell-setnx-pause-holder", "#cell-etcd-fenced-pause-holder", "#cell-etcd-claim-pause-holder", "#cell-version-cas-pause-holder")
			})
		}
	}
	for _, what := range tr.seen() {
		t.Errorf("the page should be silent: %s", what)
	}
}

// keep saves pictures of parts of the page for a person to look at, in the
// folder that TORTURE_SCREENSHOTS names.
func keep(t *testing.T, ctx context.Context, name string, selectors ...string) {
	t.Helper()
	dir := os.Getenv("TORTURE_SCREENSHOTS")
	if dir == "" {
		return
	}
	for _, selector := range selectors {
		png := see(t, ctx, chromedp.Screenshot(chromedp.CSS(selector)))
		must(t, os.WriteFile(filepath.Join(dir, name+"-"+strings.TrimLeft(selector, "#")+".png"), png, 0o644))
	}
}

// see is what an action found on the page.
func see[T any](t *testing.T, ctx context.Context, a chromedp.Action[T]) T {
	t.Helper()
	found, err := chromedp.Run(ctx, a)
	must(t, err)
	return found
}
