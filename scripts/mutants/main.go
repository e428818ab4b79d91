// Command mutants changes one thing at a time in the files that decide verdicts
// and asks the tests whether they notice: a comparison, a min for a max, a call
// for a return, a branch, a promised outcome.
//
// General tools for Go know neither the second nor the third nor the last of
// these, and build the tests anew for every mutant. Here all mutants of a
// package are compiled into one test binary, each behind a switch (Untch, Offutt,
// Harrold, "Mutation analysis using mutant schemata", 1993), with `go test
// -overlay`, so no file is touched; the environment says which mutant is alive.
//
// Those that no test can tell from the original, because they are the same
// function, are listed with the reason in equivalent.txt. A line there that
// belongs to no mutant, or to one that a test does catch, is an error.
//
// It prints "N of N caught" and ends with 1 if that is not so.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
)

// target is one package whose files are changed.
type target struct {
	dir   string
	files []string // none: all that are not tests
	// stages are tests that need no servers; later ones, which take longer, are
	// asked only about what the earlier ones did not catch.
	stages []stage
}

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		os.Exit(1)
	}
}

var errSurvivors = errors.New("some mutants survive")

func run() error {
	only := flag.String("only", "", "only mutants whose name contains one of these, separated by commas")
	list := flag.Bool("list", false, "list the mutants, run nothing")
	quick := flag.Bool("quick", false, "leave out the last and longest stage of tests")
	more := flag.Bool("further", false, "the further files of the checkers too")
	verbose := flag.Bool("v", false, "say what caught each")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()

	known, err := readEquivalent("scripts/mutants/equivalent.txt")
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)

	caught, all := 0, 0
	var wrong []string
	for _, t := range targets {
		if *more && t.dir == "checkers" {
			t.files = append(t.files, further...)
		}
		if *quick && len(t.stages) > 1 {
			t.stages = t.stages[:len(t.stages)-1]
		}
		p, err := mutate(t)
		if err != nil {
			return err
		}
		if *list {
			for _, m := range p.mutants {
				fmt.Println(m.name)
			}
			continue
		}
		b, err := p.build(ctx, work)
		if err != nil {
			return err
		}
		for _, m := range p.mutants {
			if !wanted(m.name, *only) {
				continue
			}
			by, err := b.kill(ctx, m.number)
			if err != nil {
				return err
			}
			reason, equivalent := known[m.name]
			delete(known, m.name)
			switch {
			case by == "" && equivalent:
				if *verbose {
					fmt.Printf("%s\n\tis equivalent: %s\n", m.name, reason)
				}
				continue
			case by == "":
				wrong = append(wrong, m.name+" survives")
			case equivalent:
				wrong = append(wrong, m.name+" is listed as equivalent, and caught by "+by)
			default:
				caught++
			}
			all++
			if *verbose || by == "" {
				fmt.Printf("%s\n\t%s\n", m.name, or(by, "SURVIVES"))
			}
		}
	}
	if *list {
		return nil
	}
	if *only == "" {
		for name := range known {
			wrong = append(wrong, name+" is listed as equivalent, and is no mutant")
		}
	}
	for _, w := range wrong {
		fmt.Println(w)
	}
	fmt.Printf("%d of %d caught\n", caught, all)
	if len(wrong) > 0 {
		return errSurvivors
	}
	return nil
}

func wanted(name, only string) bool {
	return slices.ContainsFunc(strings.Split(only, ","), func(part string) bool { return strings.Contains(name, part) })
}

func or(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
