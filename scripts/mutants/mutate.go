package main

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// mutant is one change.
type mutant struct {
	number int    // from 1; what the environment says
	name   string // file, function, what becomes what; unique
}

// mutated is a package in which every mutant is behind a switch.
type mutated struct {
	target
	mutants []mutant
	files   map[string][]byte // path to the changed content
}

// edit replaces a piece of a file by a switch that contains it.
type edit struct {
	from, to int
	before   string
	after    string
}

// mutation is a file being changed.
type mutation struct {
	p        *mutated
	set      *token.FileSet
	source   []byte
	path     string
	function string
	edits    []edit
	names    map[string]int
}

// mutate finds every mutant of a package.
func mutate(t target) (*mutated, error) {
	p := &mutated{target: t, files: map[string][]byte{}}
	files := t.files
	if len(files) == 0 {
		all, err := filepath.Glob(filepath.Join(t.dir, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, f := range all {
			if !strings.HasSuffix(f, "_test.go") {
				files = append(files, filepath.Base(f))
			}
		}
	}
	name := ""
	for _, f := range files {
		path := filepath.Join(t.dir, f)
		source, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		m := &mutation{p: p, set: token.NewFileSet(), source: source, path: path, names: map[string]int{}}
		tree, err := parser.ParseFile(m.set, path, source, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		name = tree.Name.Name
		for _, d := range tree.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				if d.Body != nil {
					m.function = d.Name.Name
					m.statements(d.Body)
				}
			case *ast.GenDecl:
				if d.Tok == token.VAR { // rules are function literals in a table
					m.function = "var"
					m.statements(d)
				}
			}
		}
		if p.files[path], err = m.apply(); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	p.files[filepath.Join(t.dir, "mutant_switch.go")] = []byte("package " + name + "\n" + switches)
	return p, nil
}

// switches are what the changed code calls. Both sides of a choice are
// evaluated only where that cannot do harm.
const switches = `
import (
	"cmp"
	"os"
	"strconv"
)

var mutantAlive, _ = strconv.Atoi(os.Getenv("MUTANT"))

func mutantCond(n int, b, instead bool) bool {
	if mutantAlive == n {
		return instead
	}
	return b
}

func mutantPick[T any](n int, a, instead T) T {
	if mutantAlive == n {
		return instead
	}
	return a
}

func mutantMin[T cmp.Ordered](n int, first T, rest ...T) T {
	for _, x := range rest {
		if (x < first) != (mutantAlive == n) {
			first = x
		}
	}
	return first
}

func mutantMax[T cmp.Ordered](n int, first T, rest ...T) T {
	for _, x := range rest {
		if (x > first) != (mutantAlive == n) {
			first = x
		}
	}
	return first
}
`

func (m *mutation) offset(p token.Pos) int { return m.set.Position(p).Offset }

func (m *mutation) text(n ast.Node) string {
	return string(m.source[m.offset(n.Pos()):m.offset(n.End())])
}

// add names a mutant and gives its number.
func (m *mutation) add(was, becomes string) int {
	short := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	name := fmt.Sprintf("%s %s: %s → %s", m.path, m.function, short(was), short(becomes))
	m.names[name]++
	if again := m.names[name]; again > 1 {
		name += fmt.Sprintf(" (%d)", again)
	}
	n := len(m.p.mutants) + 1
	m.p.mutants = append(m.p.mutants, mutant{n, name})
	return n
}

// around puts something before and after a node.
func (m *mutation) around(n ast.Node, before, after string) {
	m.edits = append(m.edits, edit{m.offset(n.Pos()), m.offset(n.End()), before, after})
}

// apply writes the file with all edits. Edits nest; those that begin at the same
// place were made from the outside in.
func (m *mutation) apply() ([]byte, error) {
	type insertion struct {
		at    int
		text  string
		order int
	}
	var all []insertion
	for i, e := range m.edits {
		all = append(all, insertion{e.from, e.before, i}, insertion{e.to, e.after, -i - 1})
	}
	// At one place, ends come before beginnings, inner ends before outer ones.
	slices.SortStableFunc(all, func(a, b insertion) int {
		if a.at != b.at {
			return a.at - b.at
		}
		return a.order - b.order
	})
	var out bytes.Buffer
	last := 0
	for _, in := range all {
		out.Write(m.source[last:in.at])
		out.WriteString(in.text)
		last = in.at
	}
	out.Write(m.source[last:])
	return format.Source(out.Bytes())
}
