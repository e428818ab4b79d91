package checkers

import (
	"math"
	"testing"
)

func TestUpperBound(t *testing.T) {
	for n, want := range map[int]float64{0: 1, 1: 0.95, 20: 0.1391, 214: 0.0139, 1000: 0.0030} {
		if got := UpperBound(n); math.Abs(got-want) > 5e-5 {
			t.Errorf("UpperBound(%d) = %.4f, want %.4f", n, got, want)
		}
	}
}

func TestInterval(t *testing.T) { // values of R: binom::binom.wilson
	for _, c := range []struct {
		k, n      int
		low, high float64
	}{
		{0, 0, 0, 1}, {0, 10, 0, 0.2775}, {10, 10, 0.7225, 1}, {5, 10, 0.2366, 0.7634}, {41, 52, 0.6597, 0.8776},
	} {
		low, high := Interval(c.k, c.n)
		if math.Abs(low-c.low) > 1e-4 || math.Abs(high-c.high) > 1e-4 {
			t.Errorf("Interval(%d, %d) = %.4f, %.4f, want %.4f, %.4f", c.k, c.n, low, high, c.low, c.high)
		}
	}
}
