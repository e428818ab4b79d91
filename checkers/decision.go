package checkers

// decision is what can be said of one property of one resource without a
// search, from what clients recorded.
type decision struct {
	answer answer
	// order is a witness if the answer is legal: the clusters in an order in
	// which the store can have applied the writes; the reads of a cluster follow
	// its write.
	order []*cluster
	// found are the violations if the answer is illegal, at least one.
	found []violation
}

// manner is what is asked of a write in an order of the clusters.
type manner int

const (
	loose  manner = iota // nothing
	fenced               // no write of a newer grant stands before it
	glued                // it stands directly on its basis
)

// block is a chain of clusters, each glued to the one before it. It stands as
// one: nothing comes between its members.
type block struct {
	members []int
	time    interval // it comes before another if something in it returned before something in the other was called
	age     interval // or if it has a fenced write that is older than one in the other
}

// chain joins clusters into blocks. It fails if two writes stick to one basis,
// if they stick to each other in a circle, or if a block contradicts itself.
func chain(cs []*cluster, how []manner) ([]block, bool) {
	next := make([]int, len(cs)) // 0: none, for nothing stands before the initial document
	left := len(cs)
	for i, c := range cs {
		if how[i] != glued {
			continue
		}
		if next[c.basis] != 0 {
			return nil, false
		}
		next[c.basis] = i
	}
	var blocks []block
	for i := range cs {
		if how[i] == glued {
			continue
		}
		b := block{time: interval{past, future}, age: interval{past, future}}
		for at := i; ; at = next[at] {
			c := cs[at]
			if len(b.members) > 0 && c.minRet < b.time.begin || how[at] == fenced && c.grantRet < b.age.begin {
				return nil, false
			}
			b.members = append(b.members, at)
			b.time = interval{max(b.time.begin, c.maxCall), min(b.time.end, c.minRet)}
			b.age.begin = max(b.age.begin, c.grantCall)
			if how[at] == fenced {
				b.age.end = min(b.age.end, c.grantRet)
			}
			if next[at] == 0 {
				break
			}
		}
		left -= len(b.members)
		blocks = append(blocks, b)
	}
	return blocks, left == 0
}

// arrange puts the clusters in an order in which real time is kept and each
// write stands in its manner; ok is false if there is none. It is complete:
// glued writes make blocks, and what is left is whether two relations between
// blocks, time and age, can be followed at once. O(n log n).
func arrange(cs []*cluster, how []manner) (order []*cluster, ok bool) {
	blocks, ok := chain(cs, how)
	if !ok {
		return nil, false
	}
	var time, age []interval
	for _, b := range blocks {
		time, age = append(time, b.time), append(age, b.age)
	}
	places, ok := topological(len(blocks), time, age)
	if !ok {
		return nil, false
	}
	for _, place := range places {
		for _, i := range blocks[place].members {
			order = append(order, cs[i])
		}
	}
	return order, true
}

// all writes in one manner; nothing is asked of the initial document.
func all(cs []*cluster, m manner) []manner {
	how := make([]manner, len(cs))
	for i := range how[1:] {
		how[i+1] = m
	}
	return how
}

func answerOf(ok bool) answer {
	if ok {
		return legal
	}
	return illegal
}
