package wire

import (
	"encoding/binary"
	"strings"
	"testing"
)

func startup(version uint32, pairs ...string) []byte {
	body := strings.Join(pairs, "\x00") + "\x00\x00"
	head := make([]byte, 8, 8+len(body))
	binary.BigEndian.PutUint32(head, uint32(8+len(body)))
	binary.BigEndian.PutUint32(head[4:], version)
	return append(head, body...)
}

func TestStartupName(t *testing.T) {
	const v3, v32 = 3 << 16, 3<<16 | 2
	whole := startup(v3, "user", "u", "application_name", "cell/w1/r00", "database", "d")
	for name, c := range map[string]struct {
		head  []byte
		name  string
		known bool
	}{
		"nothing yet":           {nil, "", false},
		"whole":                 {whole, "cell/w1/r00", true},
		"and more behind it":    {append(append([]byte{}, whole...), "Q\x00\x00\x00\x04"...), "cell/w1/r00", true},
		"half":                  {whole[:20], "", false},
		"one byte":              {whole[:1], "", false},
		"protocol 3.2":          {startup(v32, "application_name", "a"), "a", true},
		"no name":               {startup(v3, "user", "application_name"), "", true},
		"the name is a value":   {startup(v3, "user", "application_name", "database", "d"), "", true},
		"an empty name":         {startup(v3, "application_name", "", "user", "u"), "", true},
		"a request for TLS":     {startup(1234<<16 | 5679)[:8], "", true},
		"Redis":                 {[]byte("*1\r\n$4\r\nPING\r\n"), "", true},
		"one byte of Redis":     {[]byte("*"), "", true},
		"HTTP/2":                {[]byte("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"), "", true},
		"zeros":                 {make([]byte, 100), "", true},
		"longer than it may be": {append([]byte{0, 0, 0xff, 0xff, 0, 3, 0, 0}, make([]byte, 100)...), "", true},
	} {
		if got, known := startupName(c.head); got != c.name || known != c.known {
			t.Errorf("%s: %q, known: %t", name, got, known)
		}
	}
}
