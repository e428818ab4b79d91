package lock

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestJitter(t *testing.T) {
	draw := func(seed, stream uint64) []time.Duration {
		j := NewJitter(seed, stream)
		var drawn []time.Duration
		for range 100 {
			around, upTo, pick := j.Around(time.Second), j.UpTo(time.Second), j.Pick(5)
			if around < time.Second/2 || around >= 3*time.Second/2 || upTo < 0 || upTo >= time.Second || pick < 0 || pick >= 5 {
				t.Fatalf("out of bounds: %s, %s, %d", around, upTo, pick)
			}
			drawn = append(drawn, around, upTo, time.Duration(pick))
		}
		return drawn
	}
	first := draw(1, 1)
	if !slices.Equal(first, draw(1, 1)) {
		t.Error("one seed gave two sequences")
	}
	if slices.Equal(first, draw(2, 1)) || slices.Equal(first, draw(1, 2)) {
		t.Error("another seed or stream gave the same sequence")
	}
	if got := NewJitter(1, 1).UpTo(0); got != 0 {
		t.Errorf("up to nothing is %s", got)
	}
}

// One jitter serves all clients of a worker; for the race detector.
func TestJitterAtOnce(t *testing.T) {
	j := NewJitter(1, 1)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 100 {
				j.Around(time.Second)
				j.Pick(3)
			}
		})
	}
	all.Wait()
}

func TestPause(t *testing.T) {
	begun := time.Now()
	must(t, Pause(context.Background(), 20*time.Millisecond))
	if waited := time.Since(begun); waited < 20*time.Millisecond {
		t.Errorf("it waited %s", waited)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	wantErr(t, "a pause that is given up", Pause(ctx, time.Hour), context.Canceled)
}
