package checkers

// severity orders the statuses: what several of them come to.
var severity = []Status{Pass, Inconclusive, Errored, Failed}

// Combine is the status of several: fail > error > inconclusive > pass. Of
// none it is inconclusive, for nothing was shown.
func Combine(statuses ...Status) Status {
	if len(statuses) == 0 {
		return Inconclusive
	}
	worst := 0
	for _, s := range statuses {
		rank := 2 // an unknown status is an error
		for i, known := range severity {
			if s == known {
				rank = i
			}
		}
		worst = max(worst, rank)
	}
	return severity[worst]
}

// ExitCode is what a command ends with: 0 pass, 1 fail, 3 inconclusive,
// 4 error. (2 is bad usage.)
func ExitCode(s Status) int {
	switch s {
	case Pass:
		return 0
	case Failed:
		return 1
	case Inconclusive:
		return 3
	}
	return 4
}
