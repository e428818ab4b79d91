package cluster

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// clock is the wall clock of one server: a folder with the library that is
// preloaded and the file that says how far it is off.
type clock struct {
	dir    string
	offset time.Duration
}

const (
	clockLibraryName = "clock.so"
	clockOffsetName  = "offset"
)

// newClock makes the folder in parent. Servers of another user read from it.
func newClock(parent, server, library string) (*clock, error) {
	c := &clock{dir: filepath.Join(parent, server+".clock")}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, fmt.Errorf("make a clock: %w", err)
	}
	if err := os.Chmod(c.dir, 0o755); err != nil { // whatever the umask
		return nil, fmt.Errorf("make a clock: %w", err)
	}
	if _, err := copyProgram(library, filepath.Join(c.dir, clockLibraryName)); err != nil {
		return nil, err
	}
	file := filepath.Join(c.dir, clockOffsetName)
	if err := os.WriteFile(file, make([]byte, 8), 0o644); err != nil {
		return nil, fmt.Errorf("make a clock: %w", err)
	}
	if err := os.Chmod(file, 0o644); err != nil {
		return nil, fmt.Errorf("make a clock: %w", err)
	}
	return c, nil
}

// env makes a program that sees the folder at dir use the clock.
func (c *clock) env(dir string) []string {
	return []string{
		"LD_PRELOAD=" + filepath.Join(dir, clockLibraryName),
		"TORTURE_CLOCK=" + filepath.Join(dir, clockOffsetName),
	}
}

// set writes the offset in one write of 8 bytes, which the server, having
// mapped the file, sees at its next look.
func (c *clock) set(offset time.Duration) error {
	f, err := os.OpenFile(filepath.Join(c.dir, clockOffsetName), os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteAt(binary.NativeEndian.AppendUint64(nil, uint64(offset)), 0)
	return errors.Join(err, f.Close())
}

// MoveClock moves the wall clock of a running Redis, which was started with
// RedisClock, by d from where it is, forward or (d < 0) back, and returns once
// its TIME says so. Only this server sees it. The clock stays moved over its
// restarts; its monotonic clock is never touched.
func (s *Server) MoveClock(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.clock == nil:
		return fmt.Errorf("move the clock of %s: it has none of its own (RedisClock)", s.Name)
	case s.state != Running:
		return fmt.Errorf("move the clock of %s: it is %s", s.Name, s.state)
	}
	err := s.clock.set(s.clock.offset + d)
	if err == nil {
		s.clock.offset += d
		err = s.proveClock(ctx)
	}
	if err != nil {
		return fmt.Errorf("move the clock of %s: %w", s.Name, err)
	}
	return nil
}

// proveClock asks for the time between two looks at our own clock, which is the
// server's but for the offset.
func (s *Server) proveClock(ctx context.Context) error {
	const slack = 2 * time.Millisecond // TIME is in µs, and our clock may be slewed
	c := redisClient(s)
	defer c.Close()
	before := time.Now()
	is, err := c.Time(ctx).Result()
	if err != nil {
		return err
	}
	after := time.Now()
	if is.Before(before.Add(s.clock.offset-slack)) || is.After(after.Add(s.clock.offset+slack)) {
		return fmt.Errorf("it says %s where it is %s and it should be off by %v", is.UTC().Format(time.RFC3339Nano), after.UTC().Format(time.RFC3339Nano), s.clock.offset)
	}
	return nil
}
