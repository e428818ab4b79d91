package history_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/torture-harness/torture/checkers/histories"
	"github.com/torture-harness/torture/harness/history"
)

// withRows are the lines of a made history, with reads of all resources in
// between.
func withRows(t *testing.T, rng *rand.Rand) []string {
	t.Helper()
	s := histories.Shape{
		Resources: 1 + rng.IntN(3), Operations: 6 + rng.IntN(30), Clients: 1 + rng.IntN(4),
		Unknown: 0.2, Paused: 0.2, Stale: rng.IntN(2), Seed: rng.Uint64(),
	}
	var b bytes.Buffer
	if err := s.WriteLines(&b); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	seen := map[string]string{}
	resource := map[string]string{}
	free := int64(0) // when the reader of all rows is
	var out []string
	for i, line := range lines {
		out = append(out, line)
		var e history.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		if e.Resource != "" {
			resource[e.Op] = e.Resource
		}
		if e.Type == history.TypeComplete && e.WriteID != "" {
			seen[resource[e.Op]] = e.WriteID
		}
		if len(seen) > 0 && e.Time > free && rng.IntN(12) == 0 {
			free = e.Time + 1
			text, _ := json.Marshal(seen)
			out = append(out,
				fmt.Sprintf(`{"t":"invoke","time":%d,"op":"rows-%d","process":"watcher","kind":"read"}`, e.Time, i),
				fmt.Sprintf(`{"t":"complete","time":%d,"op":"rows-%d","outcome":"ok","seen":%s}`, e.Time+1, i, text),
				fmt.Sprintf(`{"t":"want","time":%d,"client":"w0/r000","resource":"r000"}`, e.Time+1))
		}
	}
	at := func(line string) int64 {
		var e history.Event
		_ = json.Unmarshal([]byte(line), &e)
		return e.Time
	}
	slices.SortStableFunc(out, func(a, b string) int { return int(at(a) - at(b)) })
	return out
}

var value = regexp.MustCompile(`"(op|process|client|resource|kind|outcome|grant|write_id|basis|r000|r001|time)":("[^"]*"|\d+)`)

// damage changes something, anything: mostly one value for another that is
// somewhere else in the history.
func damage(rng *rand.Rand, lines []string) []string {
	lines = slices.Clone(lines)
	n := 1 + rng.IntN(len(lines)-1)
	switch rng.IntN(14) {
	case 0:
		return slices.Delete(lines, n, n+1)
	case 1:
		return slices.Insert(lines, 1+rng.IntN(len(lines)-1), lines[n])
	case 2:
		m := min(n+1, len(lines)-1)
		lines[n], lines[m] = lines[m], lines[n]
	case 3:
		lines[n] = lines[n][:rng.IntN(len(lines[n]))]
	case 4: // both lines of an operation
		if m := value.FindStringSubmatch(lines[n]); m != nil {
			op := regexp.MustCompile(`"op":"[^"]*"`).FindString(lines[n])
			return slices.DeleteFunc(lines, func(l string) bool { return op != "" && strings.Contains(l, op) })
		}
	case 5: // an operation gets the name of a part of a read of all resources
		all := strings.Join(lines, "\n")
		row := regexp.MustCompile(`rows-\d+`).FindString(all)
		if op := regexp.MustCompile(`"op":"r00[^"]*"`).FindString(lines[n]); op != "" && row != "" {
			return strings.Split(strings.ReplaceAll(all, op, `"op":"`+row+`/r000"`), "\n")
		}
	case 6:
		lines[n] = strings.Replace(lines[n], `"outcome"`, `"worker":"w7","outcome"`, 1)
	default:
		all := value.FindAllStringSubmatchIndex(lines[n], -1)
		if all == nil {
			return lines
		}
		here := all[rng.IntN(len(all))]
		key := lines[n][here[2]:here[3]]
		other := ""
		for range 50 {
			m := value.FindAllStringSubmatch(lines[1+rng.IntN(len(lines)-1)], -1)
			if m == nil {
				continue
			}
			if x := m[rng.IntN(len(m))]; x[1] == key || rng.IntN(40) == 0 || key == "basis" && x[1] == "write_id" {
				other = x[2]
				break
			}
		}
		if key == "time" && rng.IntN(2) == 0 { // a little, so that the order stays
			var e history.Event
			_ = json.Unmarshal([]byte(lines[n]), &e)
			other = fmt.Sprint(e.Time + rng.Int64N(5) - 2)
		}
		if key == "outcome" && rng.IntN(2) == 0 {
			other = []string{`"ok"`, `"fail"`, `"info"`, `"rejected"`}[rng.IntN(4)]
		}
		if other != "" {
			lines[n] = lines[n][:here[4]] + other + lines[n][here[5]:]
		}
	}
	return lines
}

// kindOfDamage are words of every complaint, and whether it may be made by
// reading all into memory only.
var kindOfDamage = map[string]bool{
	"not JSON": false, "was invoked before": false, "completed twice": false, "without its invocation": false, "does not fit": false, "its invocation in line": false,
	"write id": false, "initial document": false, "never completed": false, "not after its call": false,
	"goes on with": false, "has returned": false, "which nobody wrote": false, "a write that ended": false, "before it was called": false,
	"based on itself": false, "had not read": false, "which nobody acquired": false, "whose acquire ended": false, "runs under grant": false,
	"was given": false, "operation id": true,
}

// TestValidateFileIsValidate: line by line and in memory, the same is found
// wrong, at the same line, whatever is.
func TestValidateFileIsValidate(t *testing.T) {
	const tries = 3000
	rng := rand.New(rand.NewPCG(20261130, 1))
	path := filepath.Join(t.TempDir(), "history.jsonl")
	valid, whole := 0, 0
	met, streamed := map[string]int{}, map[string]int{}
	var lines []string
	for try := range tries {
		if try%10 == 0 {
			lines = withRows(t, rng)
		}
		changed := lines
		for range try % 4 {
			changed = damage(rng, changed)
		}
		if err := os.WriteFile(path, []byte(strings.Join(changed, "\n")+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		h, want := history.ReadFile(path)
		if want == nil {
			want = h.Validate()
		}
		s, got := history.ValidateFile(path)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("try %d: line by line: %v\nin memory: %v\n%s", try, got, want, strings.Join(changed, "\n"))
		}
		if s.Whole {
			whole++
		}
		if want == nil {
			valid++
			if s.Operations != len(h.Operations) || fmt.Sprint(s.Warnings) != fmt.Sprint(h.Warnings) {
				t.Fatalf("try %d: %+v, want %d operations, %q", try, s, len(h.Operations), h.Warnings)
			}
			if try%4 == 0 && s.Whole {
				t.Fatalf("try %d: an ordinary history was read into memory", try)
			}
			continue
		}
		for words := range kindOfDamage {
			if strings.Contains(want.Error(), words) {
				if met[words]++; !s.Whole {
					streamed[words]++
				}
			}
		}
	}
	t.Logf("%d of %d valid, %d read into memory; complaints %v, of these line by line %v", valid, tries, whole, met, streamed)
	for words, only := range kindOfDamage {
		if met[words] == 0 || streamed[words] == 0 && !only {
			t.Errorf("%q came up %d times, %d of these line by line", words, met[words], streamed[words])
		}
	}
}
