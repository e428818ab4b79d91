package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/result"
)

func TestReasons(t *testing.T) {
	const overlap = "grants overlap: only 3 of 40 successive grants under contention are ordered in time"
	for _, one := range []struct{ given, want []string }{
		{nil, nil},
		{[]string{"the machine was 100 % busy, more than 85 %"}, nil},
		{[]string{"stale-overwrite is promised and is vacuous: 13 exposures", "fence-order is promised and is vacuous: 13 exposures", "progress is promised and is undecided: so"},
			[]string{"stale-overwrite and fence-order are promised and are vacuous: 13 exposures", "progress is promised and is undecided: so"}},
		{[]string{"a violation of rmw-atomic is predicted and was not found in 4 exposures: the harness was blind", "a violation of fence-order is predicted and was not found in 4 exposures: the harness was blind"},
			[]string{"violations of rmw-atomic and fence-order are predicted and were not found in 4 exposures: the harness was blind"}},
		{[]string{"stale-overwrite is promised and is undecided: " + overlap}, []string{"stale-overwrite is promised and is undecided: " + overlap +
			" (not that the lock was held twice: requests for it overlapped in time, so that old and new holder cannot be told apart, usually because of load)"}},
	} {
		if got := reasons(result.Cell{Reasons: one.given}); !slices.Equal(got, one.want) {
			t.Errorf("%q are told as %q", one.given, got)
		}
	}
}

// The load of the machine is told once for all cells, everywhere.
func TestLoadIsToldOnce(t *testing.T) {
	dir := t.TempDir()
	r := shoot(t, dir)
	r.Status, r.ExitCode = checkers.Inconclusive, 3
	for i, busy := range []float64{88.2, 99.4, 91} {
		r.Cells[i].Status, r.Cells[i].BusyPercent = checkers.Inconclusive, busy
		r.Cells[i].Reasons = []string{"the machine was 99 % busy, more than 85 %"}
	}
	saveResult(t, dir, r)
	must(t, Write(dir))
	var table bytes.Buffer
	must(t, Table(&table, r, 200, false))
	const want = "3 of 18 cells: the machine was 88–99 % busy (limit 85 %): timings say more about the machine than about the lock; run again with nothing beside it"
	for name, text := range map[string]string{"the page": read(t, dir, "report.html"), "summary.md": read(t, dir, "summary.md"), "the table": table.String()} {
		if strings.Count(strings.ReplaceAll(text, "\n", " "), want) != 1 || strings.Contains(text, "% busy, more than") {
			t.Errorf("%s does not say once how busy the machine was", name)
		}
	}
	if page := read(t, dir, "report.html"); !strings.Contains(page, "3 inconclusive, only because the machine was busy: what was found stands") {
		t.Error("the status does not say what stands")
	}
}

// Whatever order a run has, its page has that of the matrix, passed or not.
func TestStoriesAreInTheOrderOfTheMatrix(t *testing.T) {
	dir := t.TempDir()
	r := shoot(t, dir)
	slices.Reverse(r.Cells)
	r.Status, r.Cells[0].Status = checkers.Failed, checkers.Failed
	saveResult(t, dir, r)
	must(t, Write(dir))
	page, last := read(t, dir, "report.html"), -1
	for _, strategy := range strategies {
		for _, fault := range []string{"pause-holder", "pause-random"} {
			at := strings.Index(page, `<article id="`+anchor(strategy, fault)+`"`)
			if at < last {
				t.Errorf("%s under %s is out of order", strategy, fault)
			}
			last = at
		}
	}
	if !strings.Contains(page, `<a href="#cell-etcd-claim-pause-holder">The story of`) {
		t.Error("the lost update’s story does not lead to what closes it")
	}
	for _, want := range []string{"<code>./bin/torture compare --seed 7 --ttl 1s</code>", "<code>./bin/torture check ", "servers as local processes"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}
