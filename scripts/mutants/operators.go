package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"strings"
)

// statements visits everything below a node, from the outside in.
func (m *mutation) statements(root ast.Node) {
	assigned := map[ast.Node]bool{} // what is written to, which no switch can be put around
	ast.Inspect(root, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, l := range n.Lhs {
				assigned[l] = true
			}
		case *ast.IncDecStmt:
			assigned[n.X] = true
		case *ast.UnaryExpr:
			switch n.Op {
			case token.AND:
				assigned[n.X] = true
			case token.NOT:
				m.around(n, fmt.Sprintf("((mutantAlive == %d) != ", m.add(m.text(n), m.text(n.X))), ")")
			}
		case *ast.IfStmt:
			m.condition(n.Cond)
		case *ast.ForStmt:
			if n.Cond != nil {
				m.never(n.Cond) // for ever would only time out
			}
		case *ast.SwitchStmt:
			m.cases(n)
		case *ast.BranchStmt:
			m.jump(n)
		case *ast.ReturnStmt:
			for _, r := range n.Results {
				m.result(r)
			}
		case *ast.BinaryExpr:
			m.binary(n)
		case *ast.CallExpr:
			m.call(n)
		case *ast.SelectorExpr:
			if !assigned[n] {
				m.selector(n)
			}
		}
		return true
	})
}

// condition: never and always.
func (m *mutation) condition(c ast.Expr) {
	m.never(c)
	m.always(c)
}

func (m *mutation) never(c ast.Expr) {
	m.around(c, fmt.Sprintf("mutantCond(%d, ", m.add(m.text(c), "false")), ", false)")
}

func (m *mutation) always(c ast.Expr) {
	// The condition is evaluated all the same: it may assign or bound an index.
	m.around(c, fmt.Sprintf("mutantCond(%d, ", m.add(m.text(c), "true")), ", true)")
}

// cases: each expression of a case never fits.
func (m *mutation) cases(s *ast.SwitchStmt) {
	for _, c := range s.Body.List {
		for _, x := range c.(*ast.CaseClause).List {
			if s.Tag == nil {
				m.condition(x)
				continue
			}
			m.around(x, fmt.Sprintf("mutantPick(%d, ", m.add("case "+m.text(x), "no such case")), ", "+never(m.text(s.Tag))+")")
		}
	}
}

// never is a value that a tag never has.
func never(tag string) string {
	if tag == "code" {
		return "codes.Code(9999)"
	}
	return `"no such case"`
}

// jump: a break or continue is left out.
func (m *mutation) jump(b *ast.BranchStmt) {
	if b.Tok != token.BREAK && b.Tok != token.CONTINUE {
		return
	}
	m.around(b, fmt.Sprintf("if mutantAlive != %d { ", m.add(m.text(b), "nothing")), " }")
}

// answers are constants that stand for each other.
var answers = [][]string{
	{"history.OK", "history.Fail", "history.Info"},
	{"legal", "illegal", "unknown"},
	{"true", "false"},
	{"porcupine.Ok", "porcupine.Illegal", "porcupine.Unknown"},
}

// result: another answer is returned; a boolean expression is decided.
func (m *mutation) result(r ast.Expr) {
	text := m.text(r)
	for _, group := range answers {
		for _, a := range group {
			if a != text {
				continue
			}
			for _, other := range group {
				if other != a {
					m.around(r, fmt.Sprintf("mutantPick(%d, ", m.add("return "+a, other)), ", "+other+")")
				}
			}
			return
		}
	}
	if m.boolean(r) {
		m.condition(r)
	}
}

// boolean expressions that no other operator decides.
func (m *mutation) boolean(r ast.Expr) bool {
	call, ok := r.(*ast.CallExpr)
	if !ok {
		return false
	}
	text := m.text(call.Fun)
	for _, name := range []string{"strings.Contains", "strings.HasPrefix", "slices.Contains", "slices.ContainsFunc", "errors.As", "errors.Is"} {
		if text == name {
			return true
		}
	}
	return false
}

// comparisons and what each becomes.
var comparisons = map[token.Token][]token.Token{
	token.LSS: {token.LEQ, token.GEQ}, token.LEQ: {token.LSS, token.GTR},
	token.GTR: {token.GEQ, token.LEQ}, token.GEQ: {token.GTR, token.LSS},
	token.EQL: {token.NEQ}, token.NEQ: {token.EQL},
}

func (m *mutation) binary(b *ast.BinaryExpr) {
	for _, other := range comparisons[b.Op] {
		m.instead(b, other, "bool")
	}
	switch b.Op {
	case token.LAND: // each side left out
		m.always(b.X)
		m.always(b.Y)
	case token.LOR:
		m.never(b.X)
		m.never(b.Y)
	case token.ADD, token.SUB:
		if strings.Contains(m.text(b), `"`) || !m.number(b) {
			return
		}
		other := map[token.Token]token.Token{token.ADD: token.SUB, token.SUB: token.ADD}[b.Op]
		n := m.add(m.text(b), m.text(b.X)+" "+other.String()+" "+m.text(b.Y))
		m.around(b, fmt.Sprintf("mutantPick(%d, ", n), fmt.Sprintf(", %s %s %s)", m.text(b.X), other, m.text(b.Y)))
	}
}

// number: not the sum of strings.
func (m *mutation) number(b *ast.BinaryExpr) bool {
	for _, word := range []string{"name", "Name", "text", "reason", "string("} {
		if strings.Contains(m.text(b), word) {
			return false
		}
	}
	return true
}

// instead puts another operator in the place of a comparison. A function
// literal, since the sides may only be safe to evaluate here and now.
func (m *mutation) instead(b *ast.BinaryExpr, other token.Token, result string) {
	changed := m.text(b.X) + " " + other.String() + " " + m.text(b.Y)
	n := m.add(m.text(b), changed)
	m.around(b, fmt.Sprintf("func() %s { if mutantAlive == %d { return %s }; return ", result, n, changed), " }()")
}

// call: min for max.
func (m *mutation) call(c *ast.CallExpr) {
	id, ok := c.Fun.(*ast.Ident)
	if !ok || id.Name != "min" && id.Name != "max" || c.Ellipsis.IsValid() {
		return
	}
	other := map[string]string{"min": "max", "max": "min"}[id.Name]
	n := m.add(m.text(c), other+"(…)")
	function := map[string]string{"min": "mutantMin", "max": "mutantMax"}[id.Name]
	// The name itself is replaced by a call of the generic function with the number first.
	m.edits = append(m.edits, edit{m.offset(id.Pos()), m.offset(id.Pos()), "/*", ""},
		edit{m.offset(c.Lparen) + 1, m.offset(c.Lparen) + 1, fmt.Sprintf("*/%s(%d, ", function, n), ""})
}

// twins are fields of which one is easily taken for the other.
var twins = map[string]string{
	"Call": "Return", "Return": "Call", "call": "ret", "ret": "call",
	"maxCall": "minRet", "minRet": "maxCall", "grantCall": "grantRet", "grantRet": "grantCall",
	"From": "To", "To": "From", "from": "to", "to": "from",
}

func (m *mutation) selector(s *ast.SelectorExpr) {
	other, ok := twins[s.Sel.Name]
	if !ok {
		return
	}
	changed := m.text(s.X) + "." + other
	if x := m.text(s.X); s.Sel.Name == "ret" && (x == "w" || x == "x") {
		changed = x + ".op.Call" // a write's own name for the return of its operation
	}
	n := m.add(m.text(s), changed)
	m.around(s, fmt.Sprintf("mutantPick(%d, ", n), ", "+changed+")")
}
