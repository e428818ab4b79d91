package report

import "slices"

// The order in which strategies and faults are shown; others follow, in the
// order of the result.
var (
	strategyOrder = []string{"setnx", "redlock", "etcd-plain", "etcd-fenced", "etcd-claim", "version-cas"}
	faultOrder    = []string{"none", "pause-holder", "pause-random", "delay-write", "pause-server", "kill-worker"}
)

// strategies and faults are the rows and columns of the matrix.
func (r *run) strategies() []string {
	return names(r, strategyOrder, func(c *cell) string { return c.Strategy })
}

func (r *run) faults() []string {
	return names(r, faultOrder, func(c *cell) string { return c.Fault })
}

func names(r *run, order []string, of func(*cell) string) []string {
	var out []string
	for _, c := range r.Cells {
		if name := of(c); !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	place := func(name string) int {
		if i := slices.Index(order, name); i >= 0 {
			return i
		}
		return len(order)
	}
	slices.SortStableFunc(out, func(a, b string) int { return place(a) - place(b) })
	return out
}

// cell is the cell of one strategy and fault, nil if it was not run.
func (r *run) cell(strategy, fault string) *cell {
	for _, c := range r.Cells {
		if c.Strategy == strategy && c.Fault == fault {
			return c
		}
	}
	return nil
}

// inOrder is the cells in the order of the matrix, row by row.
func (r *run) inOrder() []*cell {
	var out []*cell
	for _, strategy := range r.strategies() {
		for _, fault := range r.faults() {
			if c := r.cell(strategy, fault); c != nil {
				out = append(out, c)
			}
		}
	}
	return out
}
