// Package await lets tests wait for what happens, never for a time.
package await

import (
	"fmt"
	"net/netip"
	"os"
	"strings"
	"testing"
	"time"
)

// long is more than anything takes, also on a busy machine.
const long = 30 * time.Second

// That returns once cond holds, and fails the test if it does not come to that.
func That(t testing.TB, what string, cond func() bool) {
	t.Helper()
	end := time.Now().Add(long)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for !cond() {
		if time.Now().After(end) {
			t.Fatalf("waited %s for: %s", long, what)
		}
		<-tick.C
	}
}

// Sent returns once requests to the stopped server at addr (127.0.0.1:port) lie
// in the kernel, sent and not read, on that many connections. The end of a
// connection counts like a request, so a server should have Read before it is
// stopped.
func Sent(t testing.TB, addr string, connections int) {
	t.Helper()
	That(t, "requests in the sockets of "+addr, func() bool { return waiting(t, addr) >= connections })
}

// Read returns once the server at addr has read all that was sent to it.
func Read(t testing.TB, addr string) {
	t.Helper()
	That(t, "the server at "+addr+" to read what was sent", func() bool { return waiting(t, addr) == 0 })
}

func waiting(t testing.TB, addr string) int {
	t.Helper()
	table, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	return unread(string(table), netip.MustParseAddrPort(addr))
}

// unread counts the connections of the address that have bytes which nobody has
// read yet (proc(5), /proc/net/tcp).
func unread(table string, at netip.AddrPort) int {
	ip := at.Addr().As4()
	local := fmt.Sprintf("%02X%02X%02X%02X:%04X", ip[3], ip[2], ip[1], ip[0], at.Port())
	const (
		listening = "0A" // whose queue is that of connections
		none      = "00000000"
	)
	n := 0
	for line := range strings.Lines(table) {
		f := strings.Fields(line) // number, local, remote, state, tx_queue:rx_queue, …
		if len(f) < 5 || f[1] != local || f[3] == listening {
			continue
		}
		if _, received, _ := strings.Cut(f[4], ":"); received != none {
			n++
		}
	}
	return n
}
