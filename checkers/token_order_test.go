package checkers

import "testing"

func TestTokenOrder(t *testing.T) {
	for _, c := range []struct {
		name    string
		ops     []op
		want    Verdict
		culprit string
	}{
		{"rising", []op{token(41, acquires("A", "gA", 0, 1)), token(42, acquires("B", "gB", 5, 6))}, Holds, ""},
		{"falling", []op{token(42, acquires("A", "gA", 0, 1)), token(41, acquires("B", "gB", 5, 6))}, Violated, "gB"},
		{"the same", []op{token(41, acquires("A", "gA", 0, 1)), token(41, acquires("B", "gB", 5, 6))}, Violated, "gB"},
		{"the same in overlapping grants", []op{token(41, acquires("A", "gA", 0, 6)), token(41, acquires("B", "gB", 5, 8))}, Violated, "gB"},
		{"overlapping grants have no order", []op{token(42, acquires("A", "gA", 0, 6)), token(41, acquires("B", "gB", 5, 8))}, Holds, ""},
		{"touching grants have none either", []op{token(42, acquires("A", "gA", 0, 5)), token(41, acquires("B", "gB", 5, 8))}, Holds, ""},
		{"below one long before", []op{token(50, acquires("A", "gA", 0, 1)), token(51, acquires("B", "gB", 2, 3)), token(49, acquires("A", "gC", 7, 8))}, Violated, "gC"},
		{"other resources have other tokens", []op{token(42, acquires("A", "gA", 0, 1)), in("r01", token(41, acquires("B", "gB", 5, 6)))}, Holds, ""},
	} {
		f := judged(t, withTokens(recorded(c.ops...)), nil, Config{}).Findings[TokenOrder]
		if f.Verdict == Vacuous {
			f.Verdict = Holds
		}
		if f.Verdict != c.want || c.want == Violated && (f.Count != 1 || f.Examples[0].Culprit != c.culprit) {
			t.Errorf("%s: %s %v, want %s by %q", c.name, f.Verdict, f.Examples, c.want, c.culprit)
		}
	}
}
