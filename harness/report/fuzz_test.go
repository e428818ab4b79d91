package report

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// FuzzReport: whatever a saved result says, there is a report or an error, and
// never a panic. What is guarded against panics is what this looks for.
func FuzzReport(f *testing.F) {
	for _, text := range []string{
		`{"schema":"torture/result/1","name":"compare","status":"pass","cells":[{"strategy":"setnx","fault":"none","dir":"cells/setnx.none","properties":{"register":{"verdict":"holds","examples":[]}}}]}`,
		`{"schema":"torture/result/1","cells":[{"dir":"../.."}]}`,
		`{"schema":"torture/claims/1"}`,
		`{}`, ``, `null`,
	} {
		f.Add(text)
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text string) {
		if err := os.WriteFile(filepath.Join(dir, "result.json"), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := Write(dir); err != nil && strings.Contains(err.Error(), "this is a bug in the report") {
			t.Fatal(err)
		}
	})
}
