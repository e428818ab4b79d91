package claims

import (
	"slices"
	"testing"
	"time"
)

func TestParseCommand(t *testing.T) {
	for line, want := range map[string]Command{
		"+1339518083.107412 [0 127.0.0.1:60866] \"keys\" \"*\"\r\n": {
			At: 1339518083107412 * time.Microsecond, From: "127.0.0.1:60866", Args: []string{"keys", "*"}},
		"+1339518087.5 [0 lua] \"SET\" \"k/r\" \"a \\\"b\\\" \\x00\\n\" \"NX\"\r\n": {
			At: 1339518087500 * time.Millisecond, From: "lua", Args: []string{"set", "k/r", "a \"b\" \x00\n", "NX"}},
		"+1339518087.5 [0 unix:/tmp/a socket] \"PING\"\r\n": {
			At: 1339518087500 * time.Millisecond, From: "unix:/tmp/a socket", Args: []string{"ping"}},
	} {
		got, err := parseCommand(line)
		// The server's seconds are read as a float, which is good for a microsecond.
		if err != nil || (got.At-want.At).Abs() > time.Microsecond || got.From != want.From || !slices.Equal(got.Args, want.Args) {
			t.Errorf("%q: %+v, %v", line, got, err)
		}
	}
	for _, line := range []string{"", "+OK\r\n", "+1.5 [0 lua \"get\"\r\n", "+1.5 [0 lua] get\r\n", "+x [0 lua] \"get\"\r\n"} {
		if got, err := parseCommand(line); err == nil {
			t.Errorf("%q: %+v, want an error", line, got)
		}
	}
}
