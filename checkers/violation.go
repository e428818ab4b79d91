package checkers

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/torture-harness/torture/harness/history"
)

// violation is one write that was not legal, and the writes that make it so.
type violation struct {
	w      *write
	newest *write   // of the newest grant that had written; nil if its age is not the point
	lost   []*write // accepted between the write and its basis; at most the first three
	// because are clusters that are illegal by themselves, so that the whole is:
	// the counterexample. None if only the journal shows the violation.
	because []*cluster
}

// shownBy names the counterexample.
func (v violation) shownBy(cs ...*cluster) violation {
	v.because = cs
	return v
}

// culprit is a violation as it is counted and shown.
type culprit struct {
	exposure
	example Example
	grants  []*grant // those that took part; one of them may have overrun its lease
}

// culprit tells a violation in one sentence.
func (v violation) culprit(format string, args ...any) culprit {
	ops := []*history.Operation{v.w.op}
	if v.w.basis != nil {
		ops = append(ops, v.w.basis)
	}
	c := culprit{exposure: v.w.exposed()}
	for _, w := range slices.Concat([]*write{v.w, v.newest}, v.lost) {
		if w == nil {
			continue
		}
		ops = append(ops, w.op)
		if w.grant.acquire != nil {
			ops = append(ops, w.grant.acquire)
		}
		c.grants = append(c.grants, w.grant)
	}
	c.example = example(v.w.op, ops, fmt.Sprintf(format, args...))
	return c
}

// example lists each operation once, in the order of the calls.
func example(at *history.Operation, ops []*history.Operation, text string) Example {
	slices.SortStableFunc(ops, func(a, b *history.Operation) int { return cmp.Compare(a.Call, b.Call) })
	out := Example{Resource: at.Resource, At: at.Call, Culprit: at.ID, Text: text}
	for _, op := range ops {
		if !slices.Contains(out.Ops, op.ID) {
			out.Ops = append(out.Ops, op.ID)
		}
	}
	return out
}

// name of a grant in a sentence.
func (g *grant) name() string {
	if g.id == "" {
		return "no lock"
	}
	if g.token != 0 {
		return fmt.Sprintf("%s (token %d)", g.id, g.token)
	}
	return g.id
}
