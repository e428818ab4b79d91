package history

import (
	"hash/maphash"
	"math/bits"
)

// fingerprints are a set of 52-bit fingerprints, each with a mark of 20 bits
// that can be changed, in eight bytes each. What was put is always found; of n
// in it, something else is taken for one of them with a chance of n in 2^52.
type fingerprints struct {
	seed   maphash.Seed
	shards [1 << shardBits]shard
}

// A shard grows by itself and by a quarter, so that the set as a whole never
// needs much more than it holds.
type shard struct {
	slots []uint64 // 44 bits of a fingerprint, then its mark; 0 is empty
	used  int
}

const (
	shardBits = 8
	markBits  = 20
	markMask  = 1<<markBits - 1
	idBits    = 64 - markBits
)

func newFingerprints() *fingerprints { return &fingerprints{seed: maphash.MakeSeed()} }

// of is the fingerprint of some strings; use tells apart what they are for.
func (f *fingerprints) of(use byte, parts ...string) uint64 {
	h := uint64(use)
	for _, p := range parts {
		h = (h ^ maphash.String(f.seed, p)) * 0x9e3779b97f4a7c15
		h ^= h >> 32
	}
	return h
}

// mark makes a mark of a fingerprint, never 0.
func mark(h uint64) uint64 { return h%markMask + 1 }

func split(h uint64) (shard int, id uint64) {
	return int(h >> (64 - shardBits)), max(h<<shardBits>>(64-idBits), 1)
}

// place is where an id is, or else where it belongs.
func (s *shard) place(id uint64) int {
	at, _ := bits.Mul64(id<<markBits, uint64(len(s.slots)))
	for i := int(at); ; {
		if found := s.slots[i]; found == 0 || found>>markBits == id {
			return i
		}
		if i++; i == len(s.slots) {
			i = 0
		}
	}
}

// get returns the mark of what was put.
func (f *fingerprints) get(h uint64) (mark uint64, there bool) {
	n, id := split(h)
	s := &f.shards[n]
	if s.used == 0 {
		return 0, false
	}
	found := s.slots[s.place(id)]
	return found & markMask, found != 0
}

// put puts a fingerprint or changes its mark.
func (f *fingerprints) put(h, mark uint64) {
	n, id := split(h)
	s := &f.shards[n]
	if 8*(s.used+1) > 7*len(s.slots) {
		before := s.slots
		s.slots = make([]uint64, len(before)+len(before)/4+16)
		for _, found := range before {
			if found != 0 {
				s.slots[s.place(found>>markBits)] = found
			}
		}
	}
	i := s.place(id)
	if s.slots[i] == 0 {
		s.used++
	}
	s.slots[i] = id<<markBits | mark
}
