package explore

import (
	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/workloads"
)

// contractOf is what a strategy is held to in every schedule: what it promises
// when its holders are stopped. A composed one has promised nothing, so that it
// is held to what the model says of its parts: what no schedule of two clients
// violates is promised, what one does is predicted.
func contractOf(s workloads.Strategy) checkers.Contract {
	if s.Contract != nil {
		return s.ContractUnder(workloads.FaultPauseHolder)
	}
	c := checkers.Contract{}
	for _, p := range checkers.Properties {
		c[p] = checkers.Promised
	}
	m, err := ModelOf(s)
	if err != nil {
		return checkers.Contract{}
	}
	program := ProgramOf(s)
	for id := range program.All(2) {
		moves, err := program.Moves(id)
		if err != nil {
			continue // All makes none that cannot be read
		}
		for property, broken := range m.Forecast(moves).Violated {
			if broken {
				c[property] = checkers.Predicted
			}
		}
	}
	if !s.Locked() {
		delete(c, checkers.LeaseExclusion)
	}
	if !s.Locker.Tokens {
		delete(c, checkers.TokenOrder)
	}
	return c
}
