package history

import (
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
)

// Survey is what ValidateFile has seen of a history.
type Survey struct {
	Header     Header
	Operations int      // a read of all resources counts as one of each
	Warnings   []string // tolerated damage
	Whole      bool     // it had to be read into memory, since its lines are not in the order of their times, say
}

// ValidateFile reads and validates a history.jsonl as ReadFile and Validate do,
// and reports the same, in about 20 bytes of memory per operation. Where lines
// are not in the order of their times it needs as much as they do.
func ValidateFile(path string) (Survey, error) {
	f, err := Open(path)
	if err != nil {
		return Survey{}, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	w := newWatch(path)
	warning, err := w.read(f)
	switch {
	case errors.Is(err, errStrange):
		return validateWhole(path)
	case err != nil:
		return Survey{}, err
	}
	w.finish()
	s := Survey{Header: *w.header, Operations: w.operations}
	if warning != "" {
		s.Warnings = append(s.Warnings, warning)
	}
	for check, f := range w.worst {
		if f.line == 0 {
			continue
		}
		w.forget()
		damage, err := explain(path, check, f)
		if err == nil && damage == nil { // two fingerprints were alike
			return validateWhole(path)
		}
		return s, errors.Join(damage, err)
	}
	return s, nil
}

func validateWhole(path string) (Survey, error) {
	h, err := ReadFile(path)
	if err != nil {
		return Survey{Whole: true}, err
	}
	return Survey{Header: h.Header, Operations: len(h.Operations), Warnings: h.Warnings, Whole: true}, h.Validate()
}

// explain makes one check on the operations that it is about.
func explain(path string, check int, f fault) (damage, err error) {
	at := func(lines ...int) func(op *Operation) bool {
		return func(op *Operation) bool { return slices.Contains(lines, op.Line) }
	}
	h, err := pick(path, math.MaxInt64, at(f.line))
	if err != nil || len(h.Operations) == 0 {
		return nil, err
	}
	one := h.Operations[0]
	more := at(f.line)
	switch check {
	case checkIndex:
		more = func(op *Operation) bool { return op.Kind == Write && op.WriteID == one.WriteID }
	case checkSequential:
		last := f.last
		if last == 0 {
			_, err = pick(path, math.MaxInt64, func(op *Operation) bool {
				if op.Process == one.Process && op.Resource != "" && op.Line < f.line {
					last = max(last, op.Line)
				}
				return false
			})
		}
		more = at(last, f.line)
	case checkReads:
		saw := map[string]bool{}
		for _, op := range h.Operations {
			saw[op.WriteID] = true
		}
		more = func(op *Operation) bool { return op.Line == f.line || op.Kind == Write && saw[op.WriteID] }
	case checkGrants:
		more = func(op *Operation) bool { return op.Line == f.line || op.ID == one.Grant }
	case checkFinished:
		more = func(op *Operation) bool { return op.Grant == one.Grant && (op.Kind == Write || op.Kind == Claim) }
	}
	if err != nil {
		return nil, err
	}
	if h, err = pick(path, math.MaxInt64, more); err != nil {
		return nil, err
	}
	for i := range h.Operations {
		if op := &h.Operations[i]; check == checkGrants && op.Line != f.line {
			op.Grant = "" // it is here for another's sake, and its own grant is not
		}
	}
	v := newValidation(h)
	if damage := v.index(); check == checkIndex {
		return damage, nil
	}
	return checks[check](v), nil
}

// picking keeps some operations of a history.
type picking struct {
	*assembly
	want func(op *Operation) bool
	h    *History
}

// pick reads the first bytes of a file that was read before without damage, and
// keeps the operations that are wanted.
func pick(path string, bytes int64, want func(op *Operation) bool) (*History, error) {
	f, err := Open(path)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	defer f.Close()
	p := &picking{want: want, h: &History{File: path}}
	p.assembly = newAssembly(path, p)
	if _, err := p.read(io.LimitReader(f, bytes)); err != nil {
		return nil, err
	}
	p.h.Header = *p.header
	for _, op := range p.open {
		op.Return, op.Outcome = Never, ""
		p.keep(&op.Operation)
	}
	slices.SortFunc(p.h.Operations, inOrder)
	return p.h, nil
}

func (p *picking) keep(op *Operation) {
	if p.want(op) {
		p.h.Operations = append(p.h.Operations, *op)
	}
}

func (p *picking) invoked(*opened) error { return nil }

func (p *picking) completed(op *opened, seen map[string]string) error {
	if op.Resource != "" {
		p.keep(&op.Operation)
	} else if p.want(&op.Operation) {
		p.h.Operations = append(p.h.Operations, each(&op.Operation, seen)...)
	}
	return nil
}

func (p *picking) closed(string) (int, bool, error) { return 0, false, nil }
func (p *picking) fault(FaultEvent)                 {}
func (p *picking) other(Event)                      {}
