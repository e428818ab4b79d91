package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// repository is where the examples of the documentation are to be run.
const repository = "../.."

// TestHistoriesDocumented runs every command of docs/histories.md and compares
// what it prints. An example may end before its output does.
func TestHistoriesDocumented(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(repository, "docs", "histories.md"))
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Abs(repository)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for _, example := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(example, "\n")
			args := strings.Fields(command)
			var got string
			switch args[0] {
			case "torture":
				o := invocation{args: args[1:], dir: dir}.run(t)
				got = o.out + o.errors
			case "cat":
				content, err := os.ReadFile(filepath.Join(repository, args[1]))
				if err != nil {
					t.Fatal(err)
				}
				got = string(content)
			default:
				t.Fatalf("an example that is not run: %s", command)
			}
			n++
			want = strings.TrimSpace(want)
			got = strings.TrimSpace(got)
			if whole := args[1] != "export"; whole && got != want || !strings.HasPrefix(got, want) {
				t.Errorf("%s\n%s\nwant\n%s", command, got, want)
			}
		}
	}
	if n < 8 {
		t.Errorf("%d examples were found", n)
	}
}

func TestCheckFile(t *testing.T) {
	dir, err := filepath.Abs(filepath.Join(repository, "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	sample := func(name string) string { return filepath.Join(dir, "foreign", name) }
	ours := filepath.Join(dir, "histories", "late-write")
	writes := filepath.Join(t.TempDir(), "writes.jsonl")
	if err := os.WriteFile(writes, []byte(`{"process":0,"type":"invoke","f":"write","value":1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name  string
		args  []string
		code  int
		words []string // on standard output, or on standard error with code 2
	}{
		{"linearizable", []string{sample("keys.edn"), "--model", "cas-register"}, 0, []string{"2 independent keys", "\nlinearizable\n"}},
		{"not linearizable", []string{sample("stale-read.edn"), "--model", "register"}, 1, []string{"\nnot linearizable\n", "line 10"}},
		{"undecided", []string{writes, "--model", "register"}, 3, []string{"nothing was observed", "\nundecided\n"}},
		{"ours", []string{filepath.Join(ours, "history.jsonl"), "--model", "cas-register"}, 1, []string{"a history of torture", `cas ["init" "wA"]`}},
		{"format named", []string{sample("lock.jsonl"), "--model", "mutex", "--format", "jsonl"}, 1, []string{"JSON lines"}},
		{"no model", []string{sample("keys.edn")}, 2, []string{"keys.edn", "--model", "cas-register, mutex"}},
		{"no model of ours", []string{filepath.Join(ours, "history.jsonl")}, 2, []string{"torture check " + ours, "--model"}},
		{"unknown model", []string{sample("keys.edn"), "--model", "queue"}, 2, []string{`"queue"`, "fenced-register"}},
		{"unknown format", []string{sample("keys.edn"), "--model", "register", "--format", "xml"}, 2, []string{`"xml"`, "jepsen-log"}},
		{"wrong format", []string{sample("keys.edn"), "--model", "register", "--format", "jsonl"}, 2, []string{"keys.edn:1:2:", "JSON"}},
		{"no time", []string{sample("keys.edn"), "--model", "register", "--budget", "0s"}, 2, []string{"--budget"}},
		{"wrong model", []string{sample("lock.jsonl"), "--model", "register"}, 2, []string{"lock.jsonl:1:1:", "read or write"}},
		{"not there", []string{sample("nothing.edn"), "--model", "register"}, 2, []string{"nothing.edn"}},
		{"a device", []string{"/dev/zero", "--model", "register"}, 2, []string{"/dev/zero", "not a regular file"}},
		{"a folder with a model", []string{ours, "--model", "register"}, 2, []string{"--model", "file"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := torture(t, append([]string{"check"}, test.args...)...)
			if test.code == exitUsage {
				o.oneLine(t, exitUsage, test.words...)
				return
			}
			if o.code != test.code || o.errors != "" {
				t.Errorf("exit code %d, want %d\n%s%s", o.code, test.code, o.out, o.errors)
			}
			for _, w := range test.words {
				if !strings.Contains(o.out, w) {
					t.Errorf("no %q in\n%s", w, o.out)
				}
			}
		})
	}
}

func TestPicture(t *testing.T) {
	dir := t.TempDir()
	page := filepath.Join(dir, "page.html")
	sample, err := filepath.Abs(filepath.Join(repository, "testdata", "foreign", "stale-read.edn"))
	if err != nil {
		t.Fatal(err)
	}
	o := torture(t, "check", sample, "--model", "register", "--html", page)
	content, err := os.ReadFile(page)
	if o.code != 1 || err != nil || !strings.Contains(string(content), "read 2") || !strings.Contains(o.out, "page.html shows all operations") {
		t.Errorf("exit code %d, %v\n%s%s", o.code, err, o.out, o.errors)
	}
	// A page that cannot be written changes no verdict.
	o = torture(t, "check", sample, "--model", "register", "--html", filepath.Join(dir, "nowhere", "page.html"))
	if o.code != 1 || !strings.Contains(o.errors, "no picture") {
		t.Errorf("exit code %d\n%s%s", o.code, o.out, o.errors)
	}
}

// TestExport: what is exported is read again, and gets the same verdict.
func TestExport(t *testing.T) {
	data, err := filepath.Abs(filepath.Join(repository, "testdata"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, from, model string
		more              []string
		code              int // of the check
		words             string
	}{
		{"a cell", "histories/late-write", "cas-register", nil, 1, "1 independent key"},
		{"a cell as a register", "histories/late-write", "register", nil, 0, "1 independent key"},
		{"one resource", "histories/late-write", "register", []string{"--resource", "r00"}, 0, "EDN (bare maps), model"},
		{"a file of ours", "histories/late-write/history.jsonl", "cas-register", nil, 1, "1 independent key"},
		{"a log", "foreign/timeout.log", "cas-register", nil, 0, "EDN (bare maps), model"},
		{"lines", "foreign/lock.jsonl", "owner-mutex", nil, 1, "EDN (bare maps), model"},
		{"one key", "foreign/keys.edn", "cas-register", []string{"--resource", "x"}, 0, "EDN (bare maps), model"},
	} {
		t.Run(test.name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "out.edn")
			args := append([]string{"export", filepath.Join(data, test.from), "--model", test.model, "-o", to}, test.more...)
			if o := torture(t, args...); o.code != 0 || o.out != "" {
				t.Fatalf("exit code %d\n%s%s", o.code, o.out, o.errors)
			}
			if o := torture(t, "check", to, "--model", test.model); o.code != test.code || !strings.Contains(o.out, test.words) {
				t.Errorf("exit code %d, want %d and %q\n%s%s", o.code, test.code, test.words, o.out, o.errors)
			}
		})
	}
	for _, test := range []struct {
		name  string
		args  []string
		words []string
	}{
		{"nothing there", []string{"/nonexistent"}, []string{"/nonexistent", "cell"}},
		{"no model", []string{filepath.Join(data, "foreign", "keys.edn")}, []string{"--model"}},
		{"another key", []string{filepath.Join(data, "foreign", "keys.edn"), "--model", "cas-register", "--resource", "z"}, []string{`"z"`, `"x" "y"`}},
		{"no keys", []string{filepath.Join(data, "foreign", "lock.jsonl"), "--model", "mutex", "--resource", "z"}, []string{"independent keys"}},
		{"no tokens", []string{filepath.Join(data, "histories", "late-write"), "--model", "fenced-register"}, []string{"history.jsonl:10:1:", "fencing token"}},
		{"nowhere to go", []string{filepath.Join(data, "histories", "late-write"), "-o", "/nonexistent/x"}, []string{"/nonexistent/x"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			o := torture(t, append([]string{"export"}, test.args...)...)
			o.oneLine(t, exitUsage, test.words...)
		})
	}
}
