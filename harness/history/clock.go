package history

import "golang.org/x/sys/unix"

// Now is CLOCK_MONOTONIC in nanoseconds. Go's time.Now hides this value and
// counts from the start of each process; this one can be compared between
// processes of one host. It goes on while a process is stopped.
func Now() int64 { return read(unix.CLOCK_MONOTONIC) }

// RealtimeOffset is CLOCK_REALTIME minus CLOCK_MONOTONIC in nanoseconds. It
// changes when somebody steps the wall clock, by which Redis expires its keys.
func RealtimeOffset() int64 { return read(unix.CLOCK_REALTIME) - read(unix.CLOCK_MONOTONIC) }

func read(clock int32) int64 {
	var ts unix.Timespec
	// Neither call can fail for these two clocks on Linux.
	_ = unix.ClockGettime(clock, &ts)
	return ts.Nano()
}
