package worker

import (
	"bufio"
	"fmt"
	"net"

	"github.com/torture-harness/torture/workloads/guard"
)

// keep is a process that keeps the numbers of a fence in its memory, until the
// supervisor says finish, or is gone.
func (c *child) keep(lines *bufio.Scanner) error {
	l, err := net.Listen("tcp", c.setup.Keeper)
	if err != nil {
		return fmt.Errorf("keep the numbers: %w", err)
	}
	defer l.Close()
	go new(guard.Keeper).Serve(l)
	c.say(Report{Say: sayReady})
	if !lines.Scan() {
		return nil // the supervisor is gone
	}
	if cmd, err := parseCommand(lines.Bytes()); err != nil || cmd.Do != doFinish {
		return fmt.Errorf("a keeper of numbers was told %q, which is not its work", lines.Text())
	}
	return nil
}
