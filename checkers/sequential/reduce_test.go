package sequential

import (
	"fmt"
	"strings"
	"testing"

	"github.com/torture-harness/torture/harness/foreign"
)

// TestReduce: what becomes of each operation. That it changes no verdict is for
// TestBruteForce to show; this is about what it is good for.
func TestReduce(t *testing.T) {
	for _, test := range []struct {
		name  string
		model *Model
		lines []string
		want  string // "line of the invocation:place of the return", … for open
	}{
		{"never seen", &register, []string{"0 invoke write 1", "1 invoke write 2", "1 ok write 2", "2 invoke read", "2 ok read 2"}, "2:3 4:5"},
		{"seen", &register, []string{"0 invoke write 1", "1 invoke write 2", "1 ok write 2", "2 invoke read", "2 ok read 1", "2 invoke read", "2 ok read 1"}, "1:5 2:3 4:5 6:7"},
		{"seen, and written by another", &register, []string{"0 invoke write 1", "1 invoke write 1", "1 ok write 1", "2 invoke read", "2 ok read 1"}, "1:… 2:3 4:5"},
		{"seen before its call", &register, []string{"2 invoke read", "2 ok read 1", "0 invoke write 1", "1 invoke write 2", "1 ok write 2"}, "1:2 4:5"},
		{"seen only before its call, written before", &register, []string{"3 invoke write 1", "3 ok write 1", "2 invoke read", "2 ok read 1", "0 invoke write 1", "1 invoke write 2", "1 ok write 2"}, "1:2 3:4 6:7"},
		{"completed, seen earlier", &register, []string{"0 invoke write 1", "2 invoke read", "2 ok read 1", "0 ok write 1", "2 invoke read", "2 ok read 1"}, "1:3 2:3 5:6"},
		{"nil is not settled", &casRegister, []string{"0 invoke write null", "1 invoke cas [null,2]", "1 ok cas [null,2]"}, "1:… 2:3"},
		{"called after all", &register, []string{"2 invoke read", "2 ok read 1", "0 invoke write 1"}, "1:2"},
		{"a chain that nobody sees", &casRegister, []string{"0 invoke cas [1,2]", "1 invoke cas [2,3]", "3 invoke cas [3,4]", "2 invoke write 9", "2 ok write 9"}, "4:5"},
		{"a chain that is seen", &casRegister, []string{"4 invoke write 1", "0 invoke cas [1,2]", "1 invoke cas [2,3]", "2 invoke read", "2 ok read 3"}, "1:5 2:5 3:5 4:5"},
		{"a cas that changes nothing", &casRegister, []string{"0 invoke cas [1,1]", "2 invoke write 1", "2 ok write 1", "2 invoke read", "2 ok read 1"}, "2:3 4:5"},
		{"a mutex stays open", &mutex, []string{"0 invoke acquire", "1 invoke release", "1 ok release"}, "1:… 2:3"},
		{"a mutex called after all", &mutex, []string{"1 invoke release", "1 ok release", "0 invoke acquire"}, "1:2"},
		{"a token that nobody sees", &fencedRegister, []string{`0 invoke write ["a",9]`, `1 invoke write ["b",1]`, `1 ok write ["b",1]`}, "2:3"},
	} {
		t.Run(test.name, func(t *testing.T) {
			byKey, _, _, err := entries(script(t, test.model, test.lines...), test.model)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range test.model.reduce(byKey[""]) {
				ret := "…"
				if e.ret != foreign.Never {
					ret = fmt.Sprint(e.ret)
				}
				if e.unknown != (e.ret == foreign.Never) {
					t.Errorf("line %d: unknown %v, return %s", e.op.Invoked.Line, e.unknown, ret)
				}
				got = append(got, fmt.Sprintf("%d:%s", e.op.Invoked.Line, ret))
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("%s, want %s", text, test.want)
			}
		})
	}
}
