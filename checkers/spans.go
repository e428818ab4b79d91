package checkers

import (
	"cmp"
	"iter"
	"slices"
)

// spans are stretches of time by their beginning, so that those which began
// before one moment and lasted beyond another are found without a look at all:
// of a long history only a few are under way at a time.
type spans[T any] struct {
	all    []stretch[T]
	latest []int64 // latest[i] is the latest end of the first i
}

type stretch[T any] struct {
	from, to int64
	what     T
}

func (s *spans[T]) add(from, to int64, what T) { s.all = append(s.all, stretch[T]{from, to, what}) }

// sort must be called between the last add and the first question.
func (s *spans[T]) sort() {
	slices.SortStableFunc(s.all, func(a, b stretch[T]) int { return cmp.Compare(a.from, b.from) })
	s.latest = make([]int64, len(s.all)+1)
	s.latest[0] = past
	for i, x := range s.all {
		s.latest[i+1] = max(s.latest[i], x.to)
	}
}

// over are those that began before one moment and ended after another, the
// latest beginning first.
func (s *spans[T]) over(before, after int64) iter.Seq[T] {
	return func(yield func(T) bool) {
		i, _ := slices.BinarySearchFunc(s.all, before, func(x stretch[T], at int64) int { return cmp.Compare(x.from, at) })
		for ; i > 0 && s.latest[i] > after; i-- {
			if x := s.all[i-1]; x.to > after && !yield(x.what) {
				return
			}
		}
	}
}

// any: there is one of them that fits.
func anyOf[T any](all iter.Seq[T], fits func(T) bool) bool {
	for x := range all {
		if fits(x) {
			return true
		}
	}
	return false
}
