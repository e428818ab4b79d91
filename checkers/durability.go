package checkers

import (
	"fmt"

	"github.com/torture-harness/torture/harness/history"
)

// durability: every acknowledged write is in the store's journal.
type durability struct{}

func (durability) Property() Property { return Durability }

func (durability) Check(c *cell) outcome {
	if c.journal == nil {
		return outcome{verdict: Undecided, reason: "there is no journal"}
	}
	o := outcome{verdict: Holds, decidedBy: byJournal}
	for _, e := range c.resources {
		there := c.journal.ids[e.name]
		for _, w := range e.writes {
			if w.op.Outcome != history.OK {
				continue
			}
			o.exposures = append(o.exposures, w.exposed())
			if there[w.op.WriteID] {
				continue
			}
			v := violation{w: w}
			o.culprits = append(o.culprits, v.culprit("%s was told that %s had been written, and the store's journal does not have it", w.op.Client, w.op.WriteID))
		}
	}
	if len(o.culprits) > 0 {
		o.verdict = Violated
		if !c.lossAllowed {
			o.errors = append(o.errors, fmt.Sprintf("durability: %d acknowledged writes are missing from the journal although no store crashed: %s", len(o.culprits), o.culprits[0].example.Text))
		}
	}
	return o
}
