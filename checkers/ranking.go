package checkers

import (
	"cmp"
	"slices"
	"sort"
)

// ranking answers, in O(log n): of the things whose key lies below a limit,
// which has the largest value, leaving out up to two?
type ranking struct {
	keys  []int64
	best  [][3]int32 // of the first things by key, the three with the largest values; -1 for none
	value []int64    // by thing
}

func rank(n int, key, value func(i int) int64) *ranking {
	r := &ranking{keys: make([]int64, n), best: make([][3]int32, n+1), value: make([]int64, n)}
	byKey := make([]int, n)
	for i := range byKey {
		byKey[i], r.value[i] = i, value(i)
	}
	slices.SortStableFunc(byKey, func(a, b int) int { return cmp.Compare(key(a), key(b)) })
	r.best[0] = [3]int32{-1, -1, -1}
	for place, i := range byKey {
		r.keys[place] = key(i)
		r.best[place+1] = r.add(r.best[place], int32(i))
	}
	return r
}

func (r *ranking) add(best [3]int32, i int32) [3]int32 {
	for at, j := range best {
		if j < 0 || r.value[i] > r.value[j] {
			copy(best[at+1:], best[at:])
			best[at] = i
			break
		}
	}
	return best
}

// below is -1 if there is none.
func (r *ranking) below(limit int64, without ...int) int {
	end := sort.Search(len(r.keys), func(i int) bool { return r.keys[i] >= limit })
	for _, i := range r.best[end] {
		if i >= 0 && !slices.Contains(without, int(i)) {
			return int(i)
		}
	}
	return -1
}
