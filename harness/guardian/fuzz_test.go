package guardian

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReadLedger: a ledger is read or refused with its line, and a torn last
// line, which a writer that was killed leaves, changes nothing.
func FuzzReadLedger(f *testing.F) {
	whole := `{"kind":"run","boot":"b","pid":1,"start":2}
{"kind":"process","boot":"b","pid":3,"start":4,"what":"redis"}
{"kind":"directory","path":"/nowhere"}
{"kind":"containers","label":"l"}
{"kind":"gone","pid":3,"start":4}
`
	f.Add(whole)
	f.Add(whole[:len(whole)-10])
	f.Add(whole + `{"kind":"done"}` + "\n")
	f.Add("\n")
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		path := filepath.Join(dir, "ledger")
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		h, err := readLedger(path)
		if err != nil {
			if !strings.Contains(err.Error(), path+" line ") || strings.Contains(err.Error(), "\n") {
				t.Fatalf("not one line with its place: %q", err)
			}
			return
		}
		if h.Processes == nil || h.Containers == nil {
			t.Fatal("read, and yet nothing")
		}
	})
}
