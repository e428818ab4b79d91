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
	newest  int      // the member with the newest grant
}

// chain joins clusters into blocks. If two writes stick to one basis, if they
// stick to each other in a circle, or if a block contradicts itself, it returns
// the clusters which do so instead.
func chain(cs []*cluster, how []manner) (blocks []block, bad []int) {
	next := make([]int, len(cs)) // 0: none, for nothing stands before the initial document
	for i, c := range cs {
		if how[i] != glued {
			continue
		}
		if next[c.basis] != 0 {
			return nil, []int{c.basis, next[c.basis], i}
		}
		next[c.basis] = i
	}
	joined := make([]bool, len(cs))
	for i := range cs {
		if how[i] == glued {
			continue
		}
		b := block{time: interval{past, future}, age: interval{past, future}, newest: i}
		for at := i; ; at = next[at] {
			c := cs[at]
			joined[at] = true
			b.members = append(b.members, at)
			if len(b.members) > 1 && c.minRet < b.time.begin || how[at] == fenced && c.grantRet < b.age.begin {
				return nil, b.members
			}
			b.time = interval{max(b.time.begin, c.maxCall), min(b.time.end, c.minRet)}
			if c.grantCall > b.age.begin {
				b.age.begin, b.newest = c.grantCall, at
			}
			if how[at] == fenced {
				b.age.end = min(b.age.end, c.grantRet)
			}
			if next[at] == 0 {
				break
			}
		}
		blocks = append(blocks, b)
	}
	for i := range cs {
		if !joined[i] { // so it sticks to itself
			circle := []int{i}
			for at := cs[i].basis; at != i; at = cs[at].basis {
				circle = append(circle, at)
			}
			return nil, circle
		}
	}
	return blocks, nil
}

// arrange puts the clusters in an order in which real time is kept and each
// write stands in its manner; ok is false if there is none. It is complete:
// glued writes make blocks, and what is left is whether two relations between
// blocks, time and age, can be followed at once. O(n log n).
func arrange(cs []*cluster, how []manner) (order []*cluster, ok bool) {
	blocks, bad := chain(cs, how)
	if bad != nil {
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

// all writes in one manner; nothing is asked of the initial document, and a
// write whose basis was left out is on it anywhere.
func all(cs []*cluster, m manner) []manner {
	how := make([]manner, len(cs))
	for i, c := range cs {
		if i > 0 && (m != glued || c.basis != outside) {
			how[i] = m
		}
	}
	return how
}

func answerOf(ok bool) answer {
	if ok {
		return legal
	}
	return illegal
}
