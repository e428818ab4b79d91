package checkers

import "math"

// UpperBound is the largest rate of violations that 0 in n exposures leaves
// plausible at 95 %: 1 − 0.05^(1/n), the exact binomial bound (about 3/n).
func UpperBound(n int) float64 {
	if n <= 0 {
		return 1
	}
	return 1 - math.Pow(0.05, 1/float64(n))
}

// Interval is the 95 % interval of a rate of which k in n were seen (Wilson,
// "Probable inference, the law of succession, and statistical inference",
// 1927). Of n = 0 it is everything, 0 to 1.
func Interval(k, n int) (low, high float64) {
	if n <= 0 {
		return 0, 1
	}
	const z = 1.959963984540054 // 97.5 % quantile of the normal distribution
	p, m := float64(k)/float64(n), float64(n)
	middle := (p + z*z/(2*m)) / (1 + z*z/m)
	half := z / (1 + z*z/m) * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	return max(0, middle-half), min(1, middle+half)
}
