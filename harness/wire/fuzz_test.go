package wire

import (
	"bytes"
	"strings"
	"testing"
)

// FuzzStartupName: whatever a client sends first, there is a name or not; more
// bytes never change what is known already, and what came split is the same.
func FuzzStartupName(f *testing.F) {
	f.Add([]byte{})
	f.Add(startup(3<<16, "user", "u", "application_name", "cell/w1/r00"))
	f.Add(startup(3<<16|2, "application_name", ""))
	f.Add(startup(1234<<16|5679, "x"))
	f.Add([]byte("*3\r\n$3\r\nSET\r\n"))
	f.Fuzz(func(t *testing.T, head []byte) {
		name, known := startupName(head)
		if !known && name != "" {
			t.Fatalf("not known, and yet %q", name)
		}
		if strings.ContainsRune(name, 0) || !bytes.Contains(head, []byte(name)) {
			t.Fatalf("%q is not in it", name)
		}
		for i := range head {
			if early, sure := startupName(head[:i]); sure && (early != name || !known) {
				t.Fatalf("%d bytes say %q, all say %q, %v", i, early, name, known)
			}
		}
	})
}
