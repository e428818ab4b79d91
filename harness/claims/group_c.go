package claims

import (
	"slices"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
)

// groupC: Redlock, and what a lock cannot do for the resource.
var groupC = slices.Concat(claimsOfRedlock, claimsOfLayers)

// ofItsOwn are five Redis masters and a database that a case may disturb.
var ofItsOwn = &cluster.Spec{Redis: 5, Postgres: true}

const c9Expect = "write(A)=ok write(B)=ok lease-exclusion=holds all3=violated last=A"

var claimsOfRedlock = []Claim{
	{
		ID:   "C19",
		Says: "With Redlock too, a pause after the acquisition lets the expired write through.",
		Cases: []Case{{About: "A is stopped after its read; five independent masters", Strategy: "redlock+plain", TTL: 2 * time.Second, Play: c19,
			Expect: c9Expect + " journal=B,A",
			Breaks: []Break{With("redlock+version")}}},
	},
	{
		ID:   "C20",
		Says: "Redlock: N independent masters, a majority; elapsed time and clock drift are subtracted.",
		Cases: []Case{
			{Name: "a", About: "5, 4, 3 and 2 of 5 servers, the others refuse", Strategy: "redlock+plain", TTL: 10 * time.Second, Play: reachable(refuses),
				Expect: "acquire(5)=ok acquire(4)=ok acquire(3)=ok acquire(2)=fail left=0 lease-exclusion=holds",
				Breaks: []Break{With("redlock-minority+plain")}},
			{Name: "b", About: "the others are stopped", Strategy: "redlock+plain", TTL: 5 * time.Second, Own: ofItsOwn, Play: reachable(stops),
				Expect: "acquire(5)=ok acquire(4)=ok acquire(3)=ok acquire(2)=fail left=0 lease-exclusion=holds",
				Breaks: []Break{With("redlock-minority+plain")}},
			{Name: "c", About: "the answers of three are lost; all five are released", Strategy: "redlock+plain", TTL: 10 * time.Second, Play: lostReplies,
				Expect: "acquire(A)=fail released=5 left=0 lease-exclusion=holds",
				Breaks: []Break{With("redlock-release-yes+plain")}},
			{Name: "d", About: "answers that take a part of the lease, and more than the lease", Strategy: "redlock+plain", TTL: 3 * time.Second, Play: slow,
				Expect: "acquire(slow)=ok acquire(late)=fail lease-exclusion=holds",
				Breaks: []Break{With("redlock-late+plain")}},
			{Name: "e", About: "answers that leave less than the clocks may have gained", Strategy: "redlock+plain", TTL: 20 * time.Second,
				Resources: []string{"r1", "r2", "r3"}, Play: driftEnds,
				Expect: "acquire(drift)=fail lease-exclusion=holds",
				Breaks: []Break{With("redlock-no-drift+plain")}},
			{Name: "f", About: "the library redsync with 5, 4, 3 and 2 of 5 servers", Strategy: "redsync+plain", TTL: 10 * time.Second, Play: reachable(refuses),
				Expect: "acquire(5)=ok acquire(4)=ok acquire(3)=ok acquire(2)=fail left=0 lease-exclusion=holds",
				Breaks: []Break{With("redlock-minority+plain")}},
		},
	},
	{
		ID:   "C21",
		Says: "A long delay during the acquisition is noticed: the client recomputes the validity, gives up.",
		Cases: []Case{
			{Name: "a", About: "A is stopped with its requests sent and no answer read", Strategy: "redlock+plain", TTL: 2 * time.Second, Play: c21a,
				Expect: "acquire(A)=fail write(B)=ok released=5 all4=holds",
				Breaks: []Break{With("redlock-late+plain")}},
			{Name: "b", About: "the network delays three answers", Strategy: "redlock+plain", TTL: 2 * time.Second, Play: c21b,
				Expect: "acquire(A)=fail write(B)=ok released=5 all4=holds",
				Breaks: []Break{With("redlock-late+plain")}},
		},
	},
	{
		ID:   "C22",
		Says: "Taking a late reply for a valid lock leaves out the algorithm's check.",
		Cases: []Case{
			{Name: "a", About: "B has read while A was stopped inside its acquisition; both write", Strategy: "redlock-late+plain", TTL: 2 * time.Second, Play: c22a,
				Expect: "acquire(A)=ok lease-exclusion=holds rmw-atomic=violated",
				Breaks: []Break{With("redlock+plain")}},
			{Name: "b", About: "B takes over after A's late acquisition", Strategy: "redlock-late+plain", TTL: 2 * time.Second, Play: c22b,
				Expect: "acquire(A)=ok lease-exclusion=holds all3=violated",
				Breaks: []Break{With("redlock+plain")}},
		},
	},
	{
		ID:   "C23",
		Says: "Even with the lock judged rightly, a later pause or request delay carries old work past the lease.",
		Cases: []Case{
			{Name: "a", About: "A is stopped after its read", Strategy: "redlock+plain", TTL: 2 * time.Second, Play: c23a, Expect: c9Expect,
				Breaks: []Break{With("redlock+version")}},
			{Name: "b", About: "A's write waits in the network", Strategy: "redlock+plain", TTL: 2 * time.Second, Play: c23b, Expect: c9Expect,
				Breaks: []Break{With("redlock+version")}},
		},
	},
	{
		ID:   "C24",
		Says: "Timing assumptions: a node's clock jumps and two clients hold a quorum.",
		Cases: []Case{
			{Name: "a", About: "B writes, then A; nobody is stopped", Strategy: "redlock+plain", TTL: 10 * time.Second, Own: withClocks, Play: jump(true, true),
				Expect: "acquire(B)=ok all4=violated",
				Breaks: []Break{Play("the clock is not moved", jump(false, true))}},
			{Name: "b", About: "A writes, then B; nobody is stopped", Strategy: "redlock+plain", TTL: 10 * time.Second, Own: withClocks, Play: jump(true, false),
				Expect: "acquire(B)=ok only lease-exclusion, rmw-atomic=violated",
				Breaks: []Break{Play("the clock is not moved", jump(false, false))}},
		},
	},
}

// withClocks are servers each of which has a clock of its own.
var withClocks = &cluster.Spec{Redis: 5, RedisClock: true, Postgres: true}

var claimsOfLayers = []Claim{
	{
		ID:   "C25",
		Says: "A store with conditional update can use it directly; some external resources cannot check tokens.",
		Cases: []Case{
			{Name: "a", About: "the write names the version it was computed from", Strategy: "redis-setnx+version", Play: c9,
				Expect: "write(A)=rejected write(B)=ok all4=holds last=B",
				Breaks: []Break{With("redis-setnx+plain")}},
			{Name: "b", About: "a sink that only appends and checks nothing", Strategy: "redis-setnx+sink", Play: c9, Expect: c9Expect,
				Breaks: []Break{With("redis-setnx+sink-version")}},
			{Name: "c", About: "etcd is the store, and its transaction compares the key of the lock", Strategy: "etcd+etcd-txn", TTL: 2 * time.Second, Play: c9,
				Expect: "write(A)=rejected write(B)=ok all4=holds last=B",
				Breaks: []Break{With("etcd+etcd-txn-unconditional")}},
		},
	},
	{
		ID:   "C26",
		Says: "Granting safely and protecting the resource are two layers.",
		Cases: []Case{
			{Name: "a", About: "a perfect lock, an unprotected resource", Strategy: "redis-setnx+plain", Play: c10, Expect: c9Expect,
				Breaks: []Break{With("redis-setnx+version")}},
			{Name: "b", About: "a broken lock, a protected resource", Strategy: "redis-incr-script-del+fenced", TTL: 3 * time.Second, Play: c7,
				Expect: "release(A)=ok early(C)=yes write(C)=ok write(B)=rejected only lease-exclusion=violated",
				Breaks: []Break{With("redis-incr-script-del+plain")}},
		},
	},
}
