package claims

import (
	"slices"
	"strings"
	"testing"

	"github.com/torture-harness/torture/checkers"
)

func TestParse(t *testing.T) {
	for _, one := range []struct{ expect, want string }{
		{"", "register=holds durability=holds progress=holds lease-exclusion=holds token-order=holds"},
		{"all3=violated", "stale-overwrite=violated fence-order=violated rmw-atomic=violated register=holds durability=holds progress=holds lease-exclusion=holds token-order=holds"},
		{"lease-exclusion=holds all3=violated", "lease-exclusion=holds stale-overwrite=violated fence-order=violated rmw-atomic=violated register=holds durability=holds progress=holds token-order=holds"},
		{"only rmw-atomic=violated", "lease-exclusion=holds stale-overwrite=holds fence-order=holds rmw-atomic=violated register=holds durability=holds progress=holds token-order=holds"},
		{"only lease-exclusion, rmw-atomic=violated", "lease-exclusion=violated stale-overwrite=holds fence-order=holds rmw-atomic=violated register=holds durability=holds progress=holds token-order=holds"},
		{"write(A)=rejected no handover progress=violated", "write(A)=rejected no handover progress=violated register=holds durability=holds lease-exclusion=holds token-order=holds"},
	} {
		wishes, err := parse(one.expect)
		if err != nil {
			t.Errorf("%q: %v", one.expect, err)
			continue
		}
		var got []string
		for _, w := range wishes {
			got = append(got, w.String())
		}
		if strings.Join(got, " ") != one.want {
			t.Errorf("%q:\n got %s\nwant %s", one.expect, strings.Join(got, " "), one.want)
		}
	}
	for _, bad := range []string{"write(A)", "only", "only write(A)=ok", "stale-overwrite"} {
		if _, err := parse(bad); err == nil {
			t.Errorf("%q was accepted", bad)
		}
	}
}

// What every claim expects can be read, and something breaks each.
func TestClaimsAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range All() {
		if seen[c.ID] {
			t.Errorf("%s is there twice", c.ID)
		}
		seen[c.ID] = true
		breaks := 0
		var names []string
		for _, one := range c.Cases {
			if _, err := parse(one.Expect); err != nil {
				t.Errorf("%s: %v", c.ID, err)
			}
			if one.Play == nil || one.Strategy == "" || one.About == "" {
				t.Errorf("%s(%s) has no script, strategy or description", c.ID, one.Name)
			}
			if slices.Contains(names, one.Name) {
				t.Errorf("%s has two cases %q", c.ID, one.Name)
			}
			names = append(names, one.Name)
			breaks += len(one.Breaks)
		}
		if breaks == 0 {
			t.Errorf("%s: nothing breaks it", c.ID)
		}
		if !strings.HasSuffix(c.Says, ".") {
			t.Errorf("%s says %q, which is no sentence", c.ID, c.Says)
		}
	}
}

func judged(verdicts map[checkers.Property]checkers.Verdict) checkers.Judgement {
	j := checkers.Judgement{Findings: map[checkers.Property]checkers.Finding{}}
	for _, p := range checkers.Properties {
		j.Findings[p] = checkers.Finding{Verdict: checkers.Holds}
	}
	for p, v := range verdicts {
		j.Findings[p] = checkers.Finding{Verdict: v}
	}
	return j
}

func TestWeigh(t *testing.T) {
	proven, unproven := Proof{What: "it was stopped", OK: true}, Proof{What: "it was stopped"}
	silent := Proof{What: answered}
	for _, one := range []struct {
		name     string
		expect   string
		verdicts map[checkers.Property]checkers.Verdict
		facts    map[string]string
		proof    Proof
		stopped  string
		want     Verdict
	}{
		{"as claimed", "all3=violated write(A)=ok", map[checkers.Property]checkers.Verdict{checkers.StaleOverwrite: checkers.Violated, checkers.FenceOrder: checkers.Violated, checkers.RMWAtomic: checkers.Violated}, map[string]string{"write(A)": "ok"}, proven, "", OK},
		{"few exposures are enough", "all4=holds", map[checkers.Property]checkers.Verdict{checkers.StaleOverwrite: checkers.Vacuous}, nil, proven, "", OK},
		{"no lock", "all4=holds", map[checkers.Property]checkers.Verdict{checkers.LeaseExclusion: checkers.NotApplicable}, nil, proven, "", OK},
		{"another verdict", "all4=holds", map[checkers.Property]checkers.Verdict{checkers.StaleOverwrite: checkers.Violated}, nil, proven, "", NotAsClaimed},
		{"one that nobody named", "write(A)=ok", map[checkers.Property]checkers.Verdict{checkers.Progress: checkers.Violated}, map[string]string{"write(A)": "ok"}, proven, "", NotAsClaimed},
		{"a violation that was expected is missing", "all3=violated", nil, nil, proven, "", NotAsClaimed},
		{"another outcome", "write(A)=rejected", nil, map[string]string{"write(A)": "ok"}, proven, "", NotAsClaimed},
		{"an outcome that was not seen", "write(A)=rejected", nil, nil, proven, "", Inconclusive},
		{"not decided", "all4=holds", map[checkers.Property]checkers.Verdict{checkers.StaleOverwrite: checkers.Undecided}, nil, proven, "", Inconclusive},
		{"not decided is not violated", "all3=violated", map[checkers.Property]checkers.Verdict{checkers.StaleOverwrite: checkers.Undecided, checkers.FenceOrder: checkers.Violated, checkers.RMWAtomic: checkers.Violated}, nil, proven, "", Inconclusive},
		{"not proven", "all4=holds", nil, nil, unproven, "", Inconclusive},
		{"not proven, and otherwise", "all3=violated", nil, nil, unproven, "", Inconclusive},
		{"stopped early", "all4=holds", nil, nil, proven, "waited in vain", Inconclusive},
		{"the lease lasted", "all3=violated", nil, map[string]string{noHandover: ""}, unproven, "", NotAsClaimed},
		{"the lease lasted while the store did not answer", "all3=violated", nil, map[string]string{noHandover: ""}, silent, "", Inconclusive},
		{"the lease lasted, as claimed", "no handover", nil, map[string]string{noHandover: ""}, proven, "", OK},
		{"the lease should have lasted", "no handover", nil, nil, proven, "", NotAsClaimed},
	} {
		wishes, err := parse(one.expect)
		if err != nil {
			t.Fatal(err)
		}
		facts := one.facts
		if facts == nil {
			facts = map[string]string{}
		}
		r := CaseRow{Found: compare(wishes, judged(one.verdicts), facts), Proofs: []Proof{one.proof}}
		weigh(&r, one.stopped, nil)
		if r.Verdict != one.want {
			t.Errorf("%s: %s (%s), want %s", one.name, r.Verdict, strings.Join(r.Reasons, "; "), one.want)
		}
	}
}

func TestWorst(t *testing.T) {
	if got := worst(OK, Inconclusive, Broken); got != Broken {
		t.Error(got)
	}
	if got := worst(Broken, NotAsClaimed, OK); got != NotAsClaimed {
		t.Error(got)
	}
}
