package report

import "testing"

func TestWords(t *testing.T) {
	for got, want := range map[string]string{
		count(0):                           "0",
		count(999):                         "999",
		count(4212):                        "4,212",
		count(-1234567):                    "-1,234,567",
		percent(0):                         "0\u00a0%",
		percent(1):                         "100\u00a0%",
		percent(0.01389):                   "1.4\u00a0%",
		percent(0.4321):                    "43\u00a0%",
		percent(0.9999):                    "99.9\u00a0%",
		percent(0.00001):                   "under 0.01\u00a0%",
		zeroOf(214, "exposure"):            "0 in 214 exposures (95\u00a0% upper bound 1.4\u00a0%)",
		zeroOf(1, "exposure"):              "0 in 1 exposure (95\u00a0% upper bound 95\u00a0%)",
		list(nil):                          "",
		list([]string{"a"}):                "a",
		list([]string{"a", "b"}):           "a and b",
		list([]string{"a", "b", "c"}):      "a, b and c",
		clip("abcdef", 4):                  "abc…",
		clip("äöü", 3):                     "äöü",
		milliseconds(0.42):                 "0.4 ms",
		milliseconds(1234):                 "1.2 s",
		milliseconds(98000):                "98 s",
		seconds(-1):                        "0.00 s",
		seconds(2_204_000_000):             "2.20 s",
		date("2026-05-04T09:00:00Z"):       "4 May 2026, 09:00 UTC",
		date("yesterday"):                  "yesterday",
		anchor("set nx", "<b>"):            "cell-set-nx--b-",
		markdown("a|b <i> [x](y)\n`c` @d"): "a&#124;b &#60;i&#62; &#91;x&#93;(y) &#96;c&#96; &#64;d",
		plain("a\x1b[31mb\u202ec"):         "a [31mb c",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
