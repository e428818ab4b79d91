package report

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// Counterexamples tells, of each cell in which something is violated, the
// smallest piece of its history that shows it. Of a single cell all are told. Of
// several, one of each strategy and those that broke a promise, each with the
// strongest property; the others are named.
func Counterexamples(w io.Writer, res result.Result, width int) error {
	out := &printer{w: w, width: width}
	told := map[string]bool{} // strategies
	for _, c := range res.Cells {
		tells := len(res.Cells) == 1 || !told[c.Strategy] || c.Status == checkers.Failed
		for _, p := range []checkers.Property{checkers.Register, checkers.StaleOverwrite, checkers.FenceOrder, checkers.RMWAtomic} {
			f := c.Properties[p]
			if f.Verdict != checkers.Violated || len(f.Counterexamples) == 0 {
				continue
			}
			x := f.Counterexamples[0] // those of other resources are in their files
			if tells {
				out.print("", "")
			}
			out.print("", fmt.Sprintf("%s under %s: %s of %s is violated, as %s show%s",
				c.Strategy, c.Fault, p, x.Resource, plural(len(x.Ops), "operation"), place(c, x)))
			if tells {
				tellCounterexample(out, x)
				told[c.Strategy], tells = true, len(res.Cells) == 1
			}
		}
	}
	return out.err
}

// Piece tells what a piece of a history was judged to be by itself.
func Piece(w io.Writer, h history.Header, f checkers.Finding, width int) error {
	out := &printer{w: w, width: width}
	out.print("", fmt.Sprintf("%s under %s: %s of %s, in a piece of it: %s (%s)",
		h.Strategy, h.Fault, h.Piece.Property, strings.Join(h.Resources, ", "), f.Verdict, cmp.Or(f.Reason, f.DecidedBy)))
	for _, x := range f.Counterexamples {
		tellCounterexample(out, x)
	}
	return out.err
}

// printer keeps the first error. What it prints came from outside.
type printer struct {
	w     io.Writer
	width int
	err   error
}

func (p *printer) print(indent, line string) {
	hanging := indent + "  "
	for part := range strings.SplitSeq(wrapped(plain(line), max(p.width-len(indent)-2, 40)), "\n") {
		if p.err == nil {
			_, p.err = fmt.Fprintln(p.w, strings.TrimRight(indent+part, " "))
		}
		indent = hanging
	}
}

func place(c result.Cell, x checkers.Counterexample) string {
	if x.File == "" {
		return ""
	}
	return ", in " + path.Join(filepath.ToSlash(c.Dir), filepath.ToSlash(x.File))
}

// tellCounterexample tells what was done, in the order of the calls, and why
// there is no legal order.
func tellCounterexample(out *printer, x checkers.Counterexample) {
	if x.History == nil || len(x.History.Operations) == 0 {
		return
	}
	start := x.History.Operations[0].Call
	for _, op := range x.History.Operations {
		until := "…"
		if op.Return != history.Never {
			until = fmt.Sprintf("%.6f s", float64(op.Return-start)/1e9)
		}
		out.print("  ", fmt.Sprintf("%.6f s – %-10s  %-12s %s", float64(op.Call-start)/1e9, until, op.Client, did(op)))
	}
	for _, sentence := range x.Why {
		out.print("  ", sentence)
	}
}

func did(op history.Operation) string {
	switch op.Kind {
	case history.Acquire:
		if op.Token > 0 {
			return fmt.Sprintf("gets the lock: grant %s, token %d", op.ID, op.Token)
		}
		return "gets the lock: grant " + op.ID
	case history.Write:
		text := fmt.Sprintf("writes %s, computed from %s", op.WriteID, op.Basis)
		if op.Grant != "" {
			text += ", under " + op.Grant
		}
		if op.Outcome == history.Info {
			text += "; gets no answer"
		}
		return text
	}
	return "reads " + op.WriteID
}
