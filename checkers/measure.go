package checkers

import (
	"slices"
	"strings"
	"time"

	"github.com/torture-harness/torture/harness/history"
)

// begin is the call of the first operation, to which times are relative.
func (c *cell) begin() int64 {
	if len(c.h.Operations) == 0 {
		return 0
	}
	return c.h.Operations[0].Call
}

// measure counts what the cell did.
func (c *cell) measure(j *Judgement) {
	j.Pauses = len(c.pauses)
	for _, p := range c.pauses {
		if c.landed(p) {
			j.PausesLanded++
		}
	}
	var end int64
	for i := range c.h.Operations {
		op := &c.h.Operations[i]
		if strings.HasPrefix(op.Process, history.Observer) {
			continue
		}
		j.Operations++
		changes := op.Kind == history.Write || op.Kind == history.Claim
		switch {
		case op.Outcome == history.Info:
			j.Unknown++
		case op.Outcome == history.Rejected && changes:
			j.Refused++
		case op.Outcome == history.OK && op.Kind == history.Write:
			j.Updates++
			end = max(end, op.Return)
		}
	}
	if span := end - c.begin(); j.Updates > 0 && span > 0 {
		j.Throughput = float64(j.Updates) / time.Duration(span).Seconds()
	}
	var waits []int64
	for _, e := range c.resources {
		for _, g := range e.grants {
			waits = append(waits, g.ret-g.wanted)
		}
	}
	slices.Sort(waits)
	j.WaitP50, j.WaitP99 = percentile(waits, 50), percentile(waits, 99)
}

// percentile by nearest rank; 0 of nothing.
func percentile(sorted []int64, p int) int64 {
	if len(sorted) == 0 {
		return 0
	}
	rank := (len(sorted)*p + 99) / 100
	return sorted[max(rank, 1)-1]
}
