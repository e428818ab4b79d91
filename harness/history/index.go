package history

import "hash/maphash"

// index finds places in a list by a string that belongs to them. It keeps
// only the places, since the strings are in the list: a map would take eight
// times as much.
type index struct {
	key   func(place int) string
	seed  maphash.Seed
	slots []uint32 // place + 1; 0 is empty
	used  int
}

func newIndex(key func(place int) string) index {
	return index{key: key, seed: maphash.MakeSeed(), slots: make([]uint32, 16)}
}

// slot is where key is, or else where it belongs.
func (x *index) slot(key string) int {
	mask := len(x.slots) - 1
	for i := int(maphash.String(x.seed, key)) & mask; ; i = (i + 1) & mask {
		if s := x.slots[i]; s == 0 || x.key(int(s)-1) == key {
			return i
		}
	}
}

// find returns the place that was added last for a key.
func (x *index) find(key string) (place int, there bool) {
	s := x.slots[x.slot(key)]
	return int(s) - 1, s != 0
}

// add adds a place, instead of the one that had its key, which it returns.
func (x *index) add(place int) (before int, there bool) {
	if 4*(x.used+1) > 3*len(x.slots) {
		before := x.slots
		x.slots = make([]uint32, 2*len(before))
		for _, s := range before {
			if s != 0 {
				x.slots[x.slot(x.key(int(s)-1))] = s
			}
		}
	}
	i := x.slot(x.key(place))
	s := x.slots[i]
	if s == 0 {
		x.used++
	}
	x.slots[i] = uint32(place) + 1
	return int(s) - 1, s != 0
}
