package main

import (
	"fmt"
	"os"

	"github.com/torture-harness/torture/harness/explore"
	"github.com/torture-harness/torture/harness/result"
)

// exploreScreen tells people how an exploration goes on.
type exploreScreen struct{ *screen }

func newExploreScreen(out *os.File) *exploreScreen { return &exploreScreen{newScreen(out)} }

// Schedules implements explore.Progress.
func (s *exploreScreen) Schedules(strategy string, done, of int) {
	if !s.live {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	fmt.Fprintf(s.out, "%s: %d of %d schedules", strategy, done, of)
	s.drawn = true
}

// Explored implements explore.Progress.
func (s *exploreScreen) Explored(e result.Explored) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.erase()
	again := ""
	if e.Again > 0 {
		again = fmt.Sprintf(" (%d were tried again)", e.Again)
	}
	fmt.Fprintf(s.out, "%-12s %s in %.1f s: %s%s\n", e.Strategy, s.paint(e.Status), e.Seconds, explore.Sentence(e), again)
	for _, reason := range e.Reasons {
		fmt.Fprintf(s.out, "    %s\n", reason)
	}
	s.differences(e)
}

// differences are told loudly: what we believe of a lock is wrong, or the servers
// have surprised us.
func (s *exploreScreen) differences(e result.Explored) {
	const most = 10
	told := 0
	for _, one := range e.Schedules {
		for _, difference := range one.Differs {
			if told++; told == most+1 {
				fmt.Fprintf(s.out, "    … all of them are in result.json\n")
			}
			if told <= most {
				fmt.Fprintf(s.out, "    DIFFERS %s %s: %s\n", e.Strategy, one.ID, difference)
			}
		}
	}
}

// summary is the last lines of an exploration.
func (s *exploreScreen) summary(res result.Explore) {
	schedules, differ := 0, 0
	for _, e := range res.Strategies {
		schedules += len(e.Schedules)
		differ += e.Differ
	}
	agree := "model and servers agree in all"
	if differ > 0 {
		agree = fmt.Sprintf("MODEL AND SERVERS DIFFER in %d", differ)
	}
	fmt.Fprintf(s.out, "\n%d schedules in %.0f s; %s: %s\n", schedules, res.Seconds, agree, s.paint(res.Status))
}
