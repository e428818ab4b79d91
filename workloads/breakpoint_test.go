package workloads_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/torture-harness/torture/workloads"
)

// stop is breakpoints whose arrivals a test can wait for.
type stop struct {
	*workloads.Breakpoints
	arrived chan [3]string
}

func newStop() *stop {
	s := &stop{arrived: make(chan [3]string, 100)}
	s.Breakpoints = workloads.NewBreakpoints(func(point, client, resource string) { s.arrived <- [3]string{point, client, resource} })
	return s
}

// reach has a client come by; the answer arrives once it goes on.
func (s *stop) reach(point, resource string) <-chan bool {
	done := make(chan bool, 1)
	go func() { done <- s.Reach(context.Background(), point, "w1/"+resource, resource) }()
	return done
}

// waits asserts that a client is told of, and is there.
func (s *stop) waits(t *testing.T, point, resource string, done <-chan bool) {
	t.Helper()
	select {
	case a := <-s.arrived:
		if want := [3]string{point, "w1/" + resource, resource}; a != want {
			t.Fatalf("told of %v, want %v", a, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatalf("nobody was told that %s waits at %s", resource, point)
	}
	select {
	case <-done:
		t.Fatalf("%s did not wait at %s", resource, point)
	default:
	}
}

// goesOn asserts that a client ends its visit, having waited or not.
func goesOn(t *testing.T, done <-chan bool, waited bool) {
	t.Helper()
	select {
	case did := <-done:
		if did != waited {
			t.Fatalf("it says that it waited: %t", did)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("it waits still")
	}
}

func TestBreakpointUnarmed(t *testing.T) {
	s := newStop()
	goesOn(t, s.reach("P3", "r00"), false)
	s.Arm("P2", nil)
	goesOn(t, s.reach("P3", "r00"), false)
	if len(s.arrived) > 0 {
		t.Error("somebody was told of a client that did not wait")
	}
}

func TestBreakpointOfAll(t *testing.T) {
	s := newStop()
	s.Arm("P3", nil)
	one := s.reach("P3", "r00")
	s.waits(t, "P3", "r00", one)
	two := s.reach("P3", "r01")
	s.waits(t, "P3", "r01", two)
	s.Go(nil)
	goesOn(t, one, true)
	goesOn(t, two, true)
	// Going on is not disarming.
	three := s.reach("P3", "r00")
	s.waits(t, "P3", "r00", three)
	s.Go(nil)
	goesOn(t, three, true)
}

func TestBreakpointOfSome(t *testing.T) {
	s := newStop()
	s.Arm("P3", []string{"r01", "r02"})
	goesOn(t, s.reach("P3", "r00"), false)
	one := s.reach("P3", "r01")
	s.waits(t, "P3", "r01", one)
	two := s.reach("P3", "r02")
	s.waits(t, "P3", "r02", two)

	s.Go([]string{"r01"})
	goesOn(t, one, true)
	select {
	case <-two:
		t.Fatal("r02 was let go with r01")
	default:
	}
	goesOn(t, s.reach("P3", "r01"), false) // who is named is disarmed
	s.Go([]string{"r02"})
	goesOn(t, two, true)
	goesOn(t, s.reach("P3", "r02"), false)
}

// Disarming must not lose those who wait already.
func TestBreakpointDisarm(t *testing.T) {
	s := newStop()
	s.Arm("P3", nil)
	waiting := s.reach("P3", "r00")
	s.waits(t, "P3", "r00", waiting)
	s.Disarm()
	goesOn(t, s.reach("P3", "r01"), false)
	select {
	case <-waiting:
		t.Fatal("disarming let somebody go on")
	default:
	}
	s.Go(nil)
	goesOn(t, waiting, true)
}

func TestBreakpointArmCopies(t *testing.T) {
	s := newStop()
	resources := []string{"r00"}
	s.Arm("P3", resources)
	resources[0] = "r01"
	one := s.reach("P3", "r00")
	s.waits(t, "P3", "r00", one)
	s.Go(nil)
	goesOn(t, one, true)
}

func TestBreakpointAbandon(t *testing.T) {
	s := newStop()
	s.Arm("P3", nil)
	waiting := s.reach("P3", "r00")
	s.waits(t, "P3", "r00", waiting)
	s.Abandon()
	goesOn(t, waiting, true)
	s.Arm("P3", nil) // for good: whoever arms later comes too late
	goesOn(t, s.reach("P3", "r01"), false)
}

// Arming and abandoning at once must not leave a point armed.
func TestBreakpointAbandonAgainstArm(t *testing.T) {
	for range 2000 {
		b := workloads.NewBreakpoints(func(string, string, string) {})
		var both sync.WaitGroup
		both.Go(func() { b.Arm("P3", nil) })
		both.Go(b.Abandon)
		both.Wait()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		if b.Reach(ctx, "P3", "w1/r00", "r00") {
			t.Fatal("a point is armed after all was abandoned")
		}
	}
}

func TestBreakpointContextEnds(t *testing.T) {
	s := newStop()
	s.Arm("P3", nil)
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan bool, 1)
	go func() { done <- s.Reach(ctx, "P3", "w1/r00", "r00") }()
	s.waits(t, "P3", "r00", done)
	cancel()
	goesOn(t, done, true)
}

// A word given while the arrival is still being told must not be missed: the
// client would wait for ever.
func TestBreakpointGoDuringArrival(t *testing.T) {
	for _, resources := range [][]string{nil, {"r00"}} {
		var b *workloads.Breakpoints
		b = workloads.NewBreakpoints(func(string, string, string) { b.Go(resources) })
		b.Arm("P3", []string{"r00"})
		done := make(chan bool, 1)
		go func() { done <- b.Reach(context.Background(), "P3", "w1/r00", "r00") }()
		goesOn(t, done, true)
	}
}

// Many clients and commands at once; for the race detector, and for a client
// that is left behind.
func TestBreakpointsAtOnce(t *testing.T) {
	s := newStop()
	told := make(chan struct{})
	go func() {
		defer close(told)
		for range s.arrived {
		}
	}()
	var clients sync.WaitGroup
	resources := []string{"r00", "r01", "r02", "r03"}
	ctx, cancel := context.WithCancel(context.Background())
	for _, r := range resources {
		clients.Go(func() {
			for ctx.Err() == nil {
				for _, point := range workloads.Points {
					s.Reach(context.Background(), point, "w1/"+r, r)
				}
			}
		})
	}
	for i := range 1000 {
		s.Arm(workloads.Points[i%len(workloads.Points)], resources[:i%3])
		s.Go(resources[i%3 : i%3+1])
		if i%7 == 0 {
			s.Disarm()
		}
		s.Go(nil)
	}
	cancel()
	s.Abandon()
	clients.Wait()
	close(s.arrived)
	<-told
}

func TestPointsAreInTheOrderOfTheProtocol(t *testing.T) {
	// The token may be drawn as soon as the lock is held, whatever its number says.
	if want := []string{"P1", "P2", "P7", "P3", "P4", "P5", "P6", "P8"}; !slices.Equal(workloads.Points, want) {
		t.Errorf("the points are %v, want %v", workloads.Points, want)
	}
}
