package nemesis

import (
	"reflect"
	"testing"
	"time"
)

func arenaOf(seed uint64) *Arena { return &Arena{Seed: seed, Resources: stage, TTL: time.Second} }

var (
	waits   = [2]time.Duration{time.Second, 2 * time.Second}
	lengths = [2]time.Duration{3 * time.Second, 9 * time.Second}
)

func drawn(seed uint64, kind, stream string, many int) []step {
	var steps []step
	for n := range many {
		steps = append(steps, draw(arenaOf(seed), kind, stream, n, 2, waits, lengths))
	}
	return steps
}

// The same seed gives the same faults, whatever happened before; another seed,
// kind or stream gives others.
func TestDrawIsDecidedBySeedKindStreamAndNumber(t *testing.T) {
	first := drawn(1, "pause-holder", "", 20)
	if again := drawn(1, "pause-holder", "", 20); !reflect.DeepEqual(first, again) {
		t.Error("one seed gave two schedules")
	}
	if alone := draw(arenaOf(1), "pause-holder", "", 13, 2, waits, lengths); !reflect.DeepEqual(alone, first[13]) {
		t.Error("a step depends on those before it")
	}
	for what, other := range map[string][]step{
		"seed": drawn(2, "pause-holder", "", 20), "kind": drawn(1, "pause-random", "", 20), "stream": drawn(1, "pause-holder", "/w1", 20),
	} {
		same := 0
		for i := range other {
			other[i].ID = first[i].ID
			if reflect.DeepEqual(other[i], first[i]) {
				same++
			}
		}
		if same > 0 {
			t.Errorf("another %s gave %d equal steps of 20", what, same)
		}
	}
	for i := range first[1:] {
		if first[i].Wait == first[i+1].Wait {
			t.Errorf("steps %d and %d wait equally long", i, i+1)
		}
	}
}

func TestDrawStaysWithinItsBounds(t *testing.T) {
	victims, ids := map[int]int{}, map[string]bool{}
	for _, s := range drawn(7, "pause-holder", "/w1", 300) {
		victims[s.Victim]++
		ids[s.ID] = true
		if s.Wait < waits[0] || s.Wait >= waits[1] || s.Length < lengths[0] || s.Length >= lengths[1] {
			t.Fatalf("%+v is not within %v and %v", s, waits, lengths)
		}
	}
	if len(victims) != 2 || victims[0] < 100 || victims[1] < 100 {
		t.Errorf("the victims of 300 steps: %v", victims)
	}
	if len(ids) != 300 {
		t.Errorf("300 steps have %d names", len(ids))
	}
	if s := draw(arenaOf(7), "kill-worker", "", 0, 1, [2]time.Duration{}, [2]time.Duration{}); s.Wait != 0 || s.Length != 0 {
		t.Errorf("without bounds: %+v", s)
	}
}

// Half of the resources take each order, and none always the same.
func TestDrawHalvesTheResources(t *testing.T) {
	counts := make([]int, len(stage))
	for _, s := range drawn(7, "pause-holder", "", 200) {
		heads := 0
		for i, coin := range s.Coins {
			if coin {
				heads++
				counts[i]++
			}
		}
		if len(s.Coins) != len(stage) || heads != (len(stage)+1)/2 {
			t.Fatalf("%v is not half and half", s.Coins)
		}
	}
	for i, n := range counts {
		if n < 60 || n > 160 {
			t.Errorf("%s took the first order %d times of 200", stage[i], n)
		}
	}
}
