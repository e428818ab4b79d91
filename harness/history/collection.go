package history

import (
	"cmp"
	"io"
	"slices"
)

// collection keeps a history as it is read. An operation has its place from
// its invocation on, which is nearly always the order that is wanted.
type collection struct {
	*assembly
	h    *History
	more []Operation // made of reads of all resources
	ids  index       // of the operations by id
	size int64       // of the file; 0 if unknown
}

// enoughToGuess is how many bytes of a history tell what the rest is like.
const enoughToGuess = 1 << 20

func newCollection(name string) *collection {
	c := &collection{h: &History{File: name}}
	c.assembly = newAssembly(name, c)
	c.ids = newIndex(func(i int) string { return c.h.Operations[i].ID })
	return c
}

func (c *collection) parse(r io.Reader) (*History, error) {
	warning, err := c.read(r)
	if err != nil {
		return nil, err
	}
	if warning != "" {
		c.h.Warnings = append(c.h.Warnings, warning)
	}
	c.h.Header = *c.header
	for _, op := range c.open { // kept as they are: Validate says which line
		op.Return, op.Outcome = Never, ""
		c.h.Operations[op.slot] = op.Operation
	}
	c.h.Operations = slices.DeleteFunc(c.h.Operations, func(op Operation) bool { return op.Resource == "" && op.End != 0 })
	c.h.Operations = merged(c.h.Operations, c.more)
	return c.h, nil
}

func (c *collection) invoked(op *opened) error {
	op.slot = len(c.h.Operations)
	if have := len(c.h.Operations); have == cap(c.h.Operations) && c.bytes > enoughToGuess {
		// As many as the rest of the file will have if it goes on like this:
		// growing bit by bit would take up more than twice as much for a while.
		whole := float64(have) * float64(c.size) / float64(c.bytes)
		c.h.Operations = slices.Grow(c.h.Operations, max(have/8, int(whole*1.02)-have))
	}
	c.h.Operations = append(c.h.Operations, op.Operation)
	c.ids.add(op.slot)
	return nil
}

func (c *collection) completed(op *opened, seen map[string]string) error {
	c.h.Operations[op.slot] = op.Operation
	if op.Resource != "" {
		return nil
	}
	for _, one := range each(&op.Operation, seen) {
		one.Process, one.Client = c.decoder.keep([]byte(one.Process)), c.decoder.keep([]byte(one.Client))
		c.more = append(c.more, one)
	}
	return nil
}

func (c *collection) closed(id string) (int, bool, error) {
	i, there := c.ids.find(id)
	if !there || c.h.Operations[i].End == 0 {
		return 0, false, nil
	}
	return c.h.Operations[i].Line, true, nil
}

func (c *collection) fault(f FaultEvent) { c.h.Faults = append(c.h.Faults, f) }
func (c *collection) other(e Event)      { c.h.Events = append(c.h.Events, e) }

// inOrder is how the operations of a history stand.
func inOrder(x, y Operation) int {
	return cmp.Or(cmp.Compare(x.Call, y.Call), cmp.Compare(x.Line, y.Line), cmp.Compare(x.ID, y.ID))
}

// merged puts both in order, into the space of the first if there is enough.
func merged(all, more []Operation) []Operation {
	for _, part := range [][]Operation{all, more} {
		if !slices.IsSortedFunc(part, inOrder) {
			slices.SortFunc(part, inOrder)
		}
	}
	i, j := len(all)-1, len(more)-1
	all = append(all, more...)
	for to := len(all) - 1; j >= 0; to-- {
		if i >= 0 && inOrder(all[i], more[j]) > 0 {
			all[to] = all[i]
			i--
		} else {
			all[to] = more[j]
			j--
		}
	}
	return all
}
