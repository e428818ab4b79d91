package main

// targets are the packages that decide what a run comes to: the models, the
// reduction, the rules of the other properties, and the outcome tables.
var targets = []target{
	{dir: "workloads/outcome", stages: []stage{{run: "^TestTable", histories: 1}}},
	{
		dir: "checkers",
		files: []string{
			"model.go", "evidence.go", "cluster.go", "register.go", "stale_overwrite.go", "fence_order.go", "rmw_atomic.go",
			"lease_exclusion.go", "token_order.go", "durability.go", "journal.go",
		},
		stages: []stage{
			{run: "^Test(Findings|Gather|Step|Situations|LeaseExclusion|Refusals)", histories: 1},
			{run: "^Test", skip: random, histories: 1},
			{run: "^Test(Brute|JournalOfAStore)", histories: 1_000},
			{run: "^TestBrute", histories: 10_000},
		},
	},
}

// further files of the checkers, with -further: what decides how much was risked,
// which refusals are justified, and the algorithms behind the models. Not all of
// their mutants are known to be caught or equivalent yet.
var further = []string{
	"decision.go", "front.go", "ranking.go", "precedence.go", "settling.go", "progress.go", "refusal.go", "exposure.go", "landed.go",
	"linearizability.go", "search.go", "windows.go", "stall.go", "status.go", "wish.go",
}

// random histories take longer than those made by hand.
const random = "^Test(Brute|JournalOfAStore|Window|Explain|Jepsen|Mutants|PiecesOf|Spans|QuickRules|Counterexample|Shrink|LongIn|Label)"
