package report

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/torture-harness/torture/checkers"
)

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		count(0):         "0",
		count(999):       "999",
		count(4212):      "4,212",
		count(-1234567):  "-1,234,567",
		percent(0):       "0\u00a0%",
		percent(1):       "100\u00a0%",
		percent(0.01389): "1.4\u00a0%",
		percent(0.4321):  "43\u00a0%",
		percent(0.9999):  "99.9\u00a0%",
		percent(0.00001): "under 0.01\u00a0%",
		zeroOf(checkers.Finding{Exposures: 214}, "exposure"):           "0 in 214 exposures (95\u00a0% upper bound 1.4\u00a0%)",
		zeroOf(checkers.Finding{Exposures: 25, Pauses: 7}, "exposure"): "0 in 25 exposures, 7 pauses (95\u00a0% upper bound 35\u00a0% of pauses)",
		zeroOf(checkers.Finding{Exposures: 1}, "exposure"):             "0 in 1 exposure (95\u00a0% upper bound 95\u00a0%)",
		pasted("torture compare --seed 7"):                             "./bin/torture compare --seed 7",
		pasted("make compare"):                                         "make compare",
		provided("container"):                                          "in containers",
		provided("process"):                                            "as local processes",
		provided("magic"):                                              "by magic",
		list(nil):                                                      "",
		list([]string{"a"}):                                            "a",
		list([]string{"a", "b"}):                                       "a and b",
		list([]string{"a", "b", "c"}):                                  "a, b and c",
		clip("abcdef", 4):                                              "abc…",
		clip("äöü", 3):                                                 "äöü",
		milliseconds(0.42):                                             "0.4 ms",
		milliseconds(1234):                                             "1.2 s",
		milliseconds(98000):                                            "98 s",
		seconds(-1):                                                    "0.00 s",
		seconds(2_204_000_000):                                         "2.20 s",
		date("2026-05-04T09:00:00Z"):                                   "4 May 2026, 09:00 UTC",
		date("yesterday"):                                              "yesterday",
		anchor("set nx", "<b>"):                                        "cell-set-nx--b-",
		markdown("a|b <i> [x](y)\n`c` @d"):                             "a&#124;b &#60;i&#62; &#91;x&#93;(y) &#96;c&#96; &#64;d",
		plain("a\x1b[31mb\u202ec"):                                     "a [31mb c",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// A folder below is named from here, wherever a link to it says it is; any
// other one whole.
func TestCommandPath(t *testing.T) {
	here, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	away, err := filepath.EvalSymlinks(t.TempDir())
	must(t, err)
	t.Chdir(here)
	must(t, os.MkdirAll(filepath.Join("results", "one"), 0o755))
	must(t, os.MkdirAll(filepath.Join("results", "it's two"), 0o755))
	must(t, os.Symlink("one", filepath.Join("results", "latest")))
	for dir, want := range map[string]string{
		"results/one": "results/one", "results/latest": "results/one", filepath.Join(here, "results", "one"): "results/one",
		away: away, "results/it's two": `'results/it'\''s two'`,
	} {
		if got := commandPath(dir); got != want {
			t.Errorf("%s is named %s, not %s", dir, got, want)
		}
	}
}
