package checkers

import "testing"

func TestCombine(t *testing.T) {
	for _, c := range []struct {
		of   []Status
		want Status
		code int
	}{
		{[]Status{Pass, Pass}, Pass, 0},
		{[]Status{Pass, Inconclusive}, Inconclusive, 3},
		{[]Status{Inconclusive, Errored, Pass}, Errored, 4},
		{[]Status{Errored, Failed, Inconclusive}, Failed, 1},
		{[]Status{Pass, "strange"}, Errored, 4},
		{nil, Inconclusive, 3},
	} {
		got := Combine(c.of...)
		if got != c.want || ExitCode(got) != c.code {
			t.Errorf("Combine(%q) = %s with exit code %d, want %s with %d", c.of, got, ExitCode(got), c.want, c.code)
		}
	}
	if ExitCode("strange") != 4 {
		t.Error("an unknown status is not an error")
	}
}
