package report

import (
	"encoding/xml"
	"path/filepath"
	"strings"
	"testing"

	cdpage "github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/result"
)

const nasty = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>` + "`|*[a](javascript:alert(3))"

// hostile is a run folder in which every name and message that comes from
// outside tries to be something else than text.
func hostile(t *testing.T, dir string) result.Result {
	f := newFilm(t, "setnx", "pause-holder", nasty)
	f.stalePause(nasty, 400, 1020)
	f.pause("f1", "w1", 610, 2600, nasty)
	f.op("w3", nasty, "acquire", 3500, 3501, "fail", nil)
	f.events[len(f.events)-1].Error = nasty
	f.see(4000)
	f.save(filepath.Join(dir, "cells", "one"))
	c := judge(t, dir, filepath.Join("cells", "one"), f, checkers.Contract{})
	c.Strategy, c.Fault, c.Status, c.Reasons = nasty, nasty, checkers.Failed, []string{nasty}
	for p, finding := range c.Properties {
		finding.Reason, finding.DecidedBy = nasty, nasty
		for i := range finding.Examples {
			finding.Examples[i].Text = nasty
		}
		c.Properties[p] = finding
	}
	r := result.Result{
		Schema: result.Schema, Name: nasty, Status: checkers.Failed, Provider: nasty, Started: nasty, TTL: nasty, Command: nasty, Host: nasty,
		Versions: map[string]string{nasty: nasty}, Images: map[string]string{nasty: nasty}, Errors: []string{nasty}, Cells: []result.Cell{c},
	}
	saveResult(t, dir, r)
	return r
}

func TestHostileTextsStayText(t *testing.T) {
	dir := t.TempDir()
	hostile(t, dir)
	must(t, Write(dir))
	pictures, err := filepath.Glob(filepath.Join(dir, "cells", "one", "porcupine", "*.html"))
	must(t, err)
	if len(pictures) != 1 {
		t.Fatalf("there are %d pictures by Porcupine", len(pictures))
	}
	for _, file := range []string{"report.html", "summary.md", "junit.xml"} {
		text := read(t, dir, file)
		for _, bad := range []string{"<script>alert", "<img", "[a](javascript"} {
			if strings.Contains(text, bad) && (file == "summary.md" || bad != "[a](javascript") {
				t.Errorf("%s contains %s", file, bad)
			}
		}
	}
	var suite junitSuite
	must(t, xml.Unmarshal([]byte(read(t, dir, "junit.xml")), &suite))
	if suite.Cases[0].Failure.Message != nasty {
		t.Errorf("junit.xml says %q", suite.Cases[0].Failure.Message)
	}
	lines := strings.Split(read(t, dir, "summary.md"), "\n")
	for _, line := range lines {
		if strings.HasPrefix(line, "|") && strings.Count(line, "|") != 3 {
			t.Errorf("the table of summary.md is broken by %s", line)
		}
	}

	ctx := browser(t)
	for _, file := range []string{filepath.Join(dir, "report.html"), pictures[0]} {
		url := "file://" + strings.ReplaceAll(file, "%", "%25")
		var tr trouble
		must(t, tr.watch(ctx, url))
		must(t, chromedp.Listen(ctx, func(event any) {
			if e, ok := event.(*cdpage.EventJavascriptDialogOpening); ok {
				t.Errorf("%s opened a dialog: %s", file, e.Message)
			}
		}))
		must(t, chromedp.Do(ctx, chromedp.Navigate(url)))
		if text := see(t, ctx, chromedp.Evaluate[string](`document.body.textContent`)); !strings.Contains(text, "alert(1)") {
			t.Errorf("%s does not show the name", file)
		}
		if n := see(t, ctx, chromedp.Evaluate[int](`document.querySelectorAll("img, article script, td script").length`)); n != 0 {
			t.Errorf("%s has %d elements made of a name", file, n)
		}
		for _, what := range tr.seen() {
			t.Errorf("%s: %s", file, what)
		}
	}
}

func TestPorcupineKnowsPausesAndLeases(t *testing.T) {
	dir := t.TempDir()
	shoot(t, dir)
	must(t, Write(dir))
	file := filepath.Join(dir, "cells", "etcd-fenced.pause-holder", "porcupine", "r02.html")
	if size := len(read(t, file)); size > 200<<10 {
		t.Errorf("it has %d bytes", size)
	}
	if link := `href="cells/etcd-fenced.pause-holder/porcupine/r02.html"`; !strings.Contains(read(t, dir, "report.html"), link) {
		t.Error("the page does not link to it")
	}
	ctx := browser(t)
	must(t, chromedp.Do(ctx, chromedp.Navigate("file://"+file)))
	text := see(t, ctx, chromedp.Evaluate[string](`document.querySelector("#canvas").textContent`))
	for _, want := range []string{"w1 stopped", "w1 lease", "lease, token 52", "lease, token 53", "w2/r02", "observer/r02"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not show %q", want)
		}
	}
}
