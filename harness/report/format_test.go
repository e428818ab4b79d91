package report

import (
	"bytes"
	"encoding/xml"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/result"
)

// mixed is a run in which every status occurs.
func mixed(t *testing.T, dir string) result.Result {
	r := shoot(t, dir)
	r.Status, r.ExitCode = checkers.Failed, 1
	for i, status := range []checkers.Status{checkers.Failed, checkers.Inconclusive, checkers.Errored} {
		r.Cells[i].Status, r.Cells[i].Reasons = status, []string{"because of " + string(status)}
	}
	r.Errors = []string{"a server was gone"}
	saveResult(t, dir, r)
	return r
}

func TestJUnitNeverSkips(t *testing.T) {
	dir := t.TempDir()
	mixed(t, dir)
	must(t, Write(dir))
	text := read(t, dir, "junit.xml")
	var suite junitSuite
	must(t, xml.Unmarshal([]byte(text), &suite))
	if suite.Tests != 18 || len(suite.Cases) != 18 || suite.Failures != 1 || suite.Errors != 2 || strings.Contains(text, "<skipped") {
		t.Errorf("%d cases, %d failures, %d errors: %s", suite.Tests, suite.Failures, suite.Errors, text[:300])
	}
	for i, c := range suite.Cases {
		failed, broken := c.Failure != nil, c.Error != nil
		if failed != (i == 0) || broken != (i == 1 || i == 2) {
			t.Errorf("%s: failure %v, error %v", c.Name, failed, broken)
		}
	}
	if got := suite.Cases[1].Error; got.Type != "inconclusive" || got.Message != "because of inconclusive" || !strings.Contains(got.Text, "PostgreSQL accepted it") {
		t.Errorf("the inconclusive one says %+v", got)
	}
}

func TestTable(t *testing.T) {
	r := mixed(t, t.TempDir())
	r.Cells[0].Reasons = []string{"\x1b[2Jgone", strings.Repeat("x", 300)}
	escape := regexp.MustCompile("\x1b\\[[0-9;]*m")
	for _, width := range []int{40, 60, 80, 120, 200} {
		var plain, colour bytes.Buffer
		must(t, Table(&plain, r, width, false))
		must(t, Table(&colour, r, width, true))
		for line := range strings.Lines(plain.String()) {
			if n := text.StringWidth(strings.TrimSuffix(line, "\n")); n > width {
				t.Errorf("width %d: a line of %d: %s", width, n, line)
			}
			if strings.HasSuffix(line, " \n") {
				t.Errorf("width %d: blanks at the end of %q", width, line)
			}
		}
		if strings.Contains(plain.String(), "\x1b") {
			t.Errorf("width %d: escapes without colour", width)
		}
		if !escape.MatchString(colour.String()) || escape.ReplaceAllString(colour.String(), "") != plain.String() {
			t.Errorf("width %d: colour changes more than the colour", width)
		}
	}
	long := r
	long.Cells = slices.Clone(r.Cells)
	long.Cells[0].Strategy = strings.Repeat("long", 10)
	var out bytes.Buffer
	must(t, Table(&out, long, 60, false))
	if !strings.Contains(out.String(), "longlonglonglonglo…") {
		t.Errorf("a long name: %s", out.String())
	}
	out.Reset()
	must(t, Table(&out, r, 80, false))
	for _, want := range []string{
		" setnx    ", "✗ stale 4 in 4", "! lost  2 in 10", "✓ lost  0 in 32", "an accepted update that somebody", "etcd-claim: safe for data: yes", "as predicted", "promise broken", "– lock  none",
		"setnx under pause-random: error: because of error\n", "error: a server was gone\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
	// At 80 columns the three faults stand beside each other.
	if first, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(first, "none") || !strings.Contains(first, "pause-random") {
		t.Errorf("the head is %q", first)
	}
}

func TestTableOfNothing(t *testing.T) {
	var out bytes.Buffer
	must(t, Table(&out, result.Result{Errors: []string{"no server came up"}}, 80, false))
	if !strings.Contains(out.String(), "no server came up") {
		t.Errorf("it says %q", out.String())
	}
}

func TestAnswer(t *testing.T) {
	dir := t.TempDir()
	r := shoot(t, dir)
	of := func(change func(*result.Result)) answer {
		changed := r
		changed.Cells = slices.Clone(r.Cells)
		change(&changed)
		saved := &run{Result: changed}
		for _, c := range changed.Cells {
			saved.Cells = append(saved.Cells, &cell{Cell: c})
		}
		return answerOf(saved)
	}
	verdict := func(c *result.Cell, p checkers.Property, v checkers.Verdict) {
		all := map[checkers.Property]checkers.Finding{}
		for k, f := range c.Properties {
			all[k] = f
		}
		f := all[p]
		f.Verdict = v
		all[p], c.Properties = f, all
	}
	mixedUp := of(func(r *result.Result) {
		r.Status = checkers.Failed
		r.Cells[0].Status, r.Cells[1].Status, r.Cells[2].Status, r.Cells[3].Status = checkers.Failed, checkers.Inconclusive, checkers.Inconclusive, checkers.Errored
	})
	if want := "of 18 cells 1 broke a promise, 1 ended in an error and 2 inconclusive"; mixedUp.Status != want {
		t.Errorf("the status reads %q", mixedUp.Status)
	}
	for name, one := range map[string]struct {
		change func(*result.Result)
		want   string
		tone   tone
	}{
		"as it is": {func(*result.Result) {}, "Old lock holders overwrote newer data with setnx, redlock and etcd-plain. etcd-fenced refused every stale write but can still lose an update. etcd-claim and version-cas lost nothing. The locks did nothing wrong: none was ever granted to two holders at once.", good},
		"only safe ones": {func(r *result.Result) { r.Cells = r.Cells[9:12] },
			"etcd-fenced refused every stale write but can still lose an update. No lock was ever granted to two holders at once.", good},
		"undecided": {func(r *result.Result) {
			r.Cells, r.Status = r.Cells[10:11], checkers.Inconclusive
			r.Cells[0].Status = checkers.Inconclusive
			verdict(&r.Cells[0], checkers.StaleOverwrite, checkers.Vacuous)
		}, "Not decided: etcd-fenced. No lock was ever granted to two holders at once.", unsure},
		// That nothing happens without a fault says nothing about a pause.
		"only calm": {func(r *result.Result) {
			r.Cells = r.Cells[9:11]
			verdict(&r.Cells[1], checkers.StaleOverwrite, checkers.Undecided)
		}, "Not decided: etcd-fenced. No lock was ever granted to two holders at once.", good},
		// One cell in which it was not decided is enough to say nothing.
		"one cell too few": {func(r *result.Result) {
			r.Cells = r.Cells[12:15]
			verdict(&r.Cells[2], checkers.StaleOverwrite, checkers.Vacuous)
		}, "Not decided: etcd-claim. No lock was ever granted to two holders at once.", good},
		"updates not decided": {func(r *result.Result) {
			r.Cells = r.Cells[12:15]
			verdict(&r.Cells[1], checkers.RMWAtomic, checkers.Undecided)
		}, "Not decided: etcd-claim. No lock was ever granted to two holders at once.", good},
		"a store that forgets": {func(r *result.Result) {
			r.Cells = r.Cells[12:15]
			verdict(&r.Cells[0], checkers.Durability, checkers.Violated)
		}, "Not decided: etcd-claim. No lock was ever granted to two holders at once.", good},
		// That nothing was lost is no merit of what does not promise it.
		"luck": {func(r *result.Result) { r.Cells = r.Cells[11:12] },
			"Not decided: etcd-fenced. No lock was ever granted to two holders at once.", good},
		"a blind run": {func(r *result.Result) {
			r.Cells = r.Cells[1:2]
			verdict(&r.Cells[0], checkers.StaleOverwrite, checkers.Holds)
		}, "Not decided: setnx. No lock was ever granted to two holders at once.", good},
		// The load of the machine alone leaves the properties decided.
		"busy": {func(r *result.Result) {
			r.Cells, r.Status = r.Cells[12:15], checkers.Inconclusive
			r.Cells[1].Status, r.Cells[1].Reasons = checkers.Inconclusive, []string{"the machine was 99 % busy, more than 85 %"}
		}, "etcd-claim lost nothing. No lock was ever granted to two holders at once.", unsure},
		"a broken lock": {func(r *result.Result) {
			r.Cells, r.Status = r.Cells[1:2], checkers.Failed
			r.Cells[0].Status = checkers.Failed
			verdict(&r.Cells[0], checkers.LeaseExclusion, checkers.Violated)
		}, "Old lock holders overwrote newer data with setnx. The lock itself was granted to two at once with setnx.", bad},
	} {
		a := of(one.change)
		if a.Sentence() != one.want || a.Tone != one.tone {
			t.Errorf("%s: %s %q", name, a.Tone, a.Sentence())
		}
	}
}
