package foreign

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

var casPayloads = Payloads{"read": One, "write": One, "cas": Two}

// told is a history in short: process, function, key, value and outcome of each
// operation, with its places.
func told(h *History) string {
	var out []string
	for _, op := range h.Operations {
		ret := "…"
		if op.Return != Never {
			ret = fmt.Sprint(op.Return)
		}
		text := fmt.Sprintf("%s %s %s %s [%d %s]", op.Process, op.F, op.Value, []string{"unknown", "ok", "failed"}[op.Outcome], op.Call, ret)
		if op.Key != "" {
			text = op.Key + ": " + text
		}
		out = append(out, text)
	}
	return strings.Join(out, "\n")
}

func lined(lines ...string) string { return strings.Join(lines, "\n") + "\n" }

func TestRead(t *testing.T) {
	const (
		w1  = `{:process 0, :type :invoke, :f :write, :value 1}`
		ok1 = `{:process 0, :type :ok, :f :write, :value 1}`
	)
	for _, test := range []struct {
		name, text string
		format     Format
		want       string
		left       Left
	}{
		{"bare maps", lined(w1, ok1), EDN, "0 write 1 ok [1 2]", Left{}},
		{"a vector", "[" + w1 + " " + ok1 + "]", EDN, "0 write 1 ok [1 2]", Left{}},
		{"a list", "(" + w1 + "\n" + ok1 + ")\n", EDN, "0 write 1 ok [1 2]", Left{}},
		{"comments, commas and discards", lined("; a history", "[,,"+w1+" ; one", "#_{:process 9} #_ #_ 1 2", ok1+",] ; the end"), EDN, "0 write 1 ok [1 2]", Left{}},
		{"a byte order mark", "\ufeff[" + w1 + ok1 + "]", EDN, "0 write 1 ok [1 2]", Left{}},
		{"records", "[#jepsen.history.Op" + w1 + " #jepsen.history.Op " + ok1 + "]", EDN, "0 write 1 ok [1 2]", Left{}},
		{"more fields", lined(`{:process 0 :type :invoke :f :write :value 1 :time 5 :index 0 :at #inst "2020-01-01T00:00:00Z" :error [:x {:y #{1 2}}]}`, `{:index 7 :process 0 :type :ok :f :write :value 1 :time 3}`), EDN, "0 write 1 ok [1 2]", Left{}},
		{"no completion", w1, EDN, "0 write 1 unknown [1 …]", Left{}},
		{"info", lined(w1, `{:process 0, :type :info, :f :write, :value :timed-out}`), EDN, "0 write 1 unknown [1 …]", Left{}},
		{"fail", lined(w1, `{:process 0, :type :fail, :f :write, :value 1, :error :x}`), EDN, "0 write 1 failed [1 2]", Left{}},
		{"the completion's value counts", lined(w1, `{:process 0, :type :ok, :f :write, :value 2}`), EDN, "0 write 2 ok [1 2]", Left{}},
		{"no value in the completion", lined(w1, `{:process 0, :type :ok, :f :write}`), EDN, "0 write 1 ok [1 2]", Left{}},
		{"a read", lined(`{:process 0, :type :invoke, :f :read, :value nil}`, `{:process 0, :type :ok, :f :read, :value 3}`), EDN, "0 read 3 ok [1 2]", Left{}},
		{"a read that says nothing", lined(`{:process 0, :type :invoke, :f :read, :value 5}`, `{:process 0, :type :ok, :f :read}`), EDN, "0 read nil ok [1 2]", Left{}},
		{"a read of nil", lined(`{:process 0, :type :invoke, :f :read}`, `{:process 0, :type :ok, :f :read, :value nil}`), EDN, "0 read nil ok [1 2]", Left{}},
		{"cas", lined(`{:process 0, :type :invoke, :f :cas, :value [1 2]}`, `{:process 0, :type :ok, :f :cas, :value (1 2)}`), EDN, "0 cas [1 2] ok [1 2]", Left{}},
		{"the nemesis", lined(`{:process :nemesis, :type :info, :f :start, :value nil}`, w1, `{:process :nemesis, :type :info, :f [:x], :value "cut"}`, ok1), EDN, "0 write 1 ok [1 2]", Left{Nemesis: 2}},
		{"another nemesis", lined(w1, `{:process :clock, :type :info, :f :bump, :value 3}`, ok1), EDN, "0 write 1 ok [1 2]", Left{Nemesis: 1}},
		{"a keyword that is a client", lined(`{:process :a, :type :invoke, :f :write, :value 1}`, `{:process :a, :type :info, :f :write, :value 1}`), EDN, ":a write 1 unknown [1 …]", Left{}},
		{"keys", lined(`{:process 0, :type :invoke, :f :write, :value [:x 1]}`, `{:process 1, :type :invoke, :f :cas, :value ["y" [1 2]]}`, `{:process 0, :type :ok, :f :write, :value [:x 1]}`), EDN, ":x: 0 write 1 ok [1 3]\n\"y\": 1 cas [1 2] unknown [2 …]", Left{}},
		{"tuples", lined(`{:process 0, :type :invoke, :f :read, :value #jepsen.independent/tuple [3 nil]}`, `{:process 0, :type :ok, :f :read, :value #clojure.lang.MapEntry[3 4]}`), EDN, "3: 0 read 4 ok [1 2]", Left{}},
		{"a tuple makes a key of a pair", lined(`{:process 0, :type :invoke, :f :cas, :value #jepsen.independent.Tuple[3 [1 2]]}`), EDN, "3: 0 cas [1 2] unknown [1 …]", Left{}},
		{"kinds of value", lined(`{:process 0, :type :invoke, :f :write, :value {:b 1, :a #{2 1}}}`, `{:process 1, :type :invoke, :f :write, :value "a\u00e9\n\"b"}`, `{:process 2, :type :invoke, :f :write, :value \newline}`, `{:process 3, :type :invoke, :f :write, :value +7N}`, `{:process 4, :type :invoke, :f :write, :value 1.50}`, `{:process 5, :type :invoke, :f :write, :value #inst "x"}`, `{:process 6, :type :invoke, :f :write, :value true}`, `{:process 7, :type :invoke, :f :write, :value 123456789012345678901234567890}`), EDN,
			lined(`0 write {:a #{1 2}, :b 1} unknown [1 …]`, `1 write "aé\n\"b" unknown [2 …]`, `2 write \newline unknown [3 …]`, `3 write 7 unknown [4 …]`, `4 write 1.5 unknown [5 …]`, `5 write #inst "x" unknown [6 …]`, `6 write true unknown [7 …]`, `7 write 123456789012345678901234567890 unknown [8 …]`), Left{}},

		{"lines", lined(`{"process":0,"type":"invoke","f":"write","value":1}`, `{"process":0,"type":"ok","f":"write","value":1}`), JSONL, "0 write 1 ok [1 2]", Left{}},
		{"blank lines and no last newline", "\n" + `{"process":"a","type":"invoke","f":"read"}` + "\r\n\n" + `{"process":"a","type":"ok","f":"read","value":"x","note":"hi","time":7}`, JSONL, `"a" read "x" ok [1 2]`, Left{}},
		{"keys of their own", lined(`{"process":0,"type":"invoke","f":"cas","key":"r","value":[1,1.0]}`), JSONL, `"r": 0 cas [1 1] unknown [1 …]`, Left{}},
		{"the nemesis in lines", lined(`{"process":"nemesis","type":"info","f":"cut"}`, `{"process":0,"type":"invoke","f":"read"}`), JSONL, "0 read nil unknown [1 …]", Left{Nemesis: 1}},

		{"a log", lined("INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]", "INFO  jepsen.core - Worker 1 starting", "INFO  jepsen.util - 0\t:ok\t:cas\t[1 2]"), Log, "0 cas [1 2] ok [1 2]", Left{Lines: 1}},
		{"a log with blanks", lined("INFO  jepsen.util - 0   :invoke :read   nil", "INFO  jepsen.util - 0  :fail   :read   :timed-out"), Log, "0 read nil failed [1 2]", Left{}},
		{"a log of today", lined("2021-02-26 23:39:01,300{GMT}\tINFO\t[jepsen worker 1] jepsen.util: 1\t:invoke\t:write\t[0 2]", "\tat some.Class(File.java:3)", "2021-02-26 23:39:01,301{GMT}\tINFO\t[jepsen nemesis] jepsen.util: :nemesis\t:info\t:start\tnil", "2021-02-26 23:39:01,303{GMT}\tINFO\t[jepsen worker 1] jepsen.util: 1\t:info\t:write\t[0 2]\t[:client \"refused #object[x]\"]"), Log, "0: 1 write 2 unknown [1 …]", Left{Nemesis: 1, Lines: 1}},
	} {
		t.Run(test.name, func(t *testing.T) {
			for _, format := range []Format{test.format, Auto} {
				h, err := Read(strings.NewReader(test.text), "h", format, casPayloads)
				if err != nil {
					t.Fatalf("%s: %v", format, err)
				}
				if got := told(h); got != strings.TrimSpace(test.want) || h.Left != test.left || h.Format != test.format {
					t.Errorf("%s: %s\n%s\n%+v, want\n%s\n%+v", format, h.Format, got, h.Left, test.want, test.left)
				}
			}
		})
	}
}

func TestReadRefuses(t *testing.T) {
	const (
		w1  = `{:process 0, :type :invoke, :f :write, :value 1}`
		ok1 = `{:process 0, :type :ok, :f :write, :value 1}`
		jw1 = `{"process":0,"type":"invoke","f":"write","value":1}`
		lw1 = "INFO  jepsen.util - 0\t:invoke\t:write\t1"
	)
	for _, test := range []struct {
		name, text string
		format     Format
		where      string // line:column
		words      string
	}{
		{"nothing", "", Auto, "", "empty file"},
		{"blanks", " \n\t\n", Auto, "", "empty file"},
		{"something else", "hello\n", Auto, "1:1", `found "hello"`},
		{"a JSON array", `[{"process":0}]`, Auto, "1:1", "JSON lines"},
		{"no operations", "[]", EDN, "", "found none"},
		{"only the nemesis", `{:process :nemesis :type :info :f :x}`, EDN, "", "found none"},

		{"unclosed vector", lined("[" + w1), EDN, "2:1", `expected ']' to close the '[' of line 1, column 1`},
		{"unclosed map", lined(w1, "{:process 0"), EDN, "3:1", `expected '}' to close the '{' of line 2, column 1`},
		{"unclosed string", "[" + w1 + "\n \"abc", EDN, "2:6", "close the string of line 2, column 2"},
		{"wrong bracket", "[" + w1 + ")", EDN, "1:50", `found ')'`},
		{"wrong bracket inside", "[{:process (0]}]", EDN, "1:14", `expected ')'`},
		{"a bracket too many", lined(w1, ok1, "]"), EDN, "3:1", "closes nothing"},
		{"a second history", lined("["+w1+"]", "["+ok1+"]"), EDN, "2:1", "expected the end of the file"},
		{"no map", lined(w1, "17"), EDN, "2:1", "expected an event"},
		{"a map of keys only", "{:process 0 :type}", EDN, "1:18", "expected a value for the key :type"},
		{"a key twice", "{:process 0 :process 1}", EDN, "1:13", "comes twice"},
		{"bad escape", `[{:process "\q"}]`, EDN, "1:13", "expected one of"},
		{"bad unicode", `[{:process "\u12x4"}]`, EDN, "1:13", "four hexadecimal digits"},
		{"half a pair", `[{:process "\ud800"}]`, EDN, "1:13", "half of a pair"},
		{"a quote of Clojure", "['" + w1 + "]", EDN, "1:2", "EDN does not have"},
		{"a function", "[#(+ 1 2)]", EDN, "1:2", "expected a tag"},
		{"a tag of nothing", "[#foo]", EDN, "1:2", "expected a value after the tag #foo"},
		{"a discard of nothing", "[#_]", EDN, "1:2", "expected a value to discard"},
		{"an octal number", "{:process 017}", EDN, "1:11", "expected a number"},
		{"no number", "{:process 1x}", EDN, "1:11", "expected a number"},
		{"a ratio", "{:process 1/2}", EDN, "1:11", "expected a number"},
		{"a huge fraction", "{:process 1e999}", EDN, "1:11", "expected a number"},
		{"a colon", "{: 1}", EDN, "1:2", "expected a name after the colon"},
		{"another byte", "[\n{:process \"\xff\"}]", EDN, "2:12", "UTF-8"},
		{"deep nesting", strings.Repeat("[", 100_000), EDN, "1:66", "nested at most 64 deep"},
		{"deep tags", "[" + strings.Repeat("#a ", 100_000), EDN, "1:194", "nested at most 64 deep"},
		{"a huge event", "[{:process \"" + strings.Repeat("x", 2<<20), EDN, "1:12", "at most 1048576 characters"},
		{"a huge word", "[{:process " + strings.Repeat("x", 2<<20), EDN, "1:1048579", "at most 1048576 characters"},

		{"no process", `{:type :invoke :f :read}`, EDN, "1:1", ":process"},
		{"no type", `{:process 0 :f :read}`, EDN, "1:1", ":type"},
		{"no function", `{:process 0 :type :invoke}`, EDN, "1:1", ":f"},
		{"unknown type", lined(w1, `{:process 0, :type :okay, :f :write}`), EDN, "2:1", `found "okay"`},
		{"process of nothing", `{:process nil :type :invoke :f :read}`, EDN, "1:1", "expected a number or a name"},
		{"unknown function", `{:process 0 :type :invoke :f :append :value 1}`, EDN, "1:1", "expected read or write or cas"},
		{"time is no number", `{:process 0 :type :invoke :f :read :time "now"}`, EDN, "1:42", ":time"},
		{"time is too large", `{:process 0 :type :invoke :f :read :time 99999999999999999999}`, EDN, "1:42", "64 bits"},
		{"index goes back", lined(`{:process 0 :type :invoke :f :read :index 4}`, `{:process 1 :type :invoke :f :read :index 4}`), EDN, "2:1", "index above 4"},

		{"ok without an invocation", lined(w1, ok1, ok1), EDN, "3:1", "expected an invocation before this ok"},
		{"fail without an invocation", `{:process 0 :type :fail :f :read}`, EDN, "1:1", "expected an invocation"},
		{"info without an invocation", `{:process 0 :type :info :f :read}`, EDN, "1:1", "expected an invocation"},
		{"two at once", lined(w1, `  `+w1), EDN, "2:3", "has not completed the write of line 1"},
		{"another function", lined(w1, `{:process 0, :type :ok, :f :read, :value 1}`), EDN, "2:1", "completion of write, which process 0 has invoked in line 1"},
		{"info of another function", lined(w1, `{:process 0, :type :info, :f :read, :value 1}`), EDN, "2:1", "completion of write"},
		{"a process after info", lined(w1, `{:process 0, :type :info, :f :write}`, "", `{:process 0, :type :invoke, :f :read}`), EDN, "4:1", "unknown since line 2"},
		{"a completion after info", lined(w1, `{:process 0, :type :info, :f :write}`, ok1), EDN, "3:1", "must not be used again"},
		{"completed with nil", lined(w1, `{:process 0, :type :ok, :f :write, :value nil}`), EDN, "2:43", "its invocation in line 1 has 1"},
		{"cas of one", `{:process 0, :type :invoke, :f :cas, :value 1}`, EDN, "1:45", "vector of two"},
		{"cas of three", `{:process 0, :type :invoke, :f :cas, :value [1 2 3]}`, EDN, "1:45", "vector of two"},
		{"cas without a value", `{:process 0, :type :invoke, :f :cas}`, EDN, "1:1", "vector of two"},
		{"cas completed with one", lined(`{:process 0, :type :invoke, :f :cas, :value [1 2]}`, `{:process 0, :type :ok, :f :cas, :value 2}`), EDN, "2:41", "vector of two"},
		{"a vector as a value", `{:process 0, :type :invoke, :f :write, :value [1 2 3]}`, EDN, "1:47", "expected one value"},
		{"a read of a vector", lined(`{:process 0, :type :invoke, :f :read, :value nil}`, `{:process 0, :type :ok, :f :read, :value [1 2]}`), EDN, "2:1", "without a key as in line 1"},
		{"a key that others lack", lined(w1, `{:process 1, :type :invoke, :f :write, :value [:x 1]}`), EDN, "2:1", "without a key as in line 1"},
		{"no key", lined(`{:process 1, :type :invoke, :f :write, :value [:x 1]}`, w1), EDN, "2:1", "[key value] as in line 1"},
		{"another key", lined(`{:process 1, :type :invoke, :f :write, :value [:x 1]}`, `{:process 1, :type :ok, :f :write, :value [:y 1]}`), EDN, "2:1", "expected the key :x"},

		{"torn line", lined(jw1, `{"process":0,"ty`), JSONL, "2:17", "expected"},
		{"no object", lined(jw1, `[1]`), JSONL, "2:1", "expected an event"},
		{"two on a line", jw1 + " " + jw1, JSONL, "1:53", "expected the end of the line"},
		{"not JSON", lined(jw1, `{"process": 0, type: 1}`), JSONL, "2:16", "expected JSON"},
		{"unknown field", `{"process":0,"type":"invoke","f":"read","vlaue":1}`, JSONL, "1:41", "vlaue"},
		{"field twice", `{"process":0,"process":1}`, JSONL, "1:14", "twice"},
		{"type is no text", `{"process":0,"type":1,"f":"read"}`, JSONL, "1:21", `as "type"`},
		{"key is no text", `{"process":0,"type":"invoke","f":"read","key":[1]}`, JSONL, "1:47", `as "key"`},
		{"a pair as a value", `{"process":0,"type":"invoke","f":"write","value":["k",1]}`, JSONL, "1:50", "expected one value"},
		{"deep JSON", `{"value":` + strings.Repeat("[", 1000), JSONL, "1:74", "nested at most 64 deep"},
		{"another byte in JSON", "{\"process\":\"\xff\"}", JSONL, "1:13", "UTF-8"},
		{"half a pair in JSON", `{"process":"\ud800"}`, JSONL, "1:12", "half of a pair"},
		{"a huge number", `{"process":1e999}`, JSONL, "1:12", "number that fits"},

		{"torn log", lined(lw1, "INFO  jepsen.util - 0\t:o"), Log, "2:21", "expected a process, a type, a function"},
		{"torn value", lined("INFO  jepsen.util - 0\t:invoke\t:cas\t[1 "), Log, "1:39", "to close"},
		{"two values", lined(lw1, "INFO  jepsen.util - 0\t:ok\t:write\t1 2"), Log, "2:36", "expected the end of the line"},
		{"process of a log", lined("INFO  jepsen.util - 0x\t:invoke\t:write\t1"), Log, "1:21", "expected a number"},
		{"no event in a log", "INFO  jepsen.core - done\n", Log, "", "found none"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read(strings.NewReader(test.text), "h", test.format, casPayloads)
			var d *Damage
			if !errors.As(err, &d) {
				t.Fatalf("got %v, want a Damage", err)
			}
			where := "h: "
			if test.where != "" {
				where = "h:" + test.where + ": "
			}
			if text := err.Error(); !strings.HasPrefix(text, where) || !strings.Contains(text, test.words) || strings.Contains(text, "\n") || len(text) > 400 {
				t.Errorf("%q, want %s and %q", text, where, test.words)
			}
		})
	}
}

// endless is a file of one byte, again and again. It fails if more is read of
// it than a reader may hold.
type endless struct {
	t    *testing.T
	head string
	fill byte
	read int
	most int
}

func (e *endless) Read(p []byte) (int, error) {
	if e.read > e.most {
		e.t.Error("the reader goes on and on")
		return 0, io.EOF
	}
	n := 0
	for n < len(p) {
		if e.read < len(e.head) {
			p[n] = e.head[e.read]
		} else {
			p[n] = e.fill
		}
		n++
		e.read++
	}
	return n, nil
}

// TestEndless: a line or an event without an end is refused, not loaded.
func TestEndless(t *testing.T) {
	for format, head := range map[Format]string{
		JSONL: `{"process":"`, Log: "INFO  jepsen.util - 0\t:invoke\t:write\t", EDN: `[{:process "`,
	} {
		_, err := Read(&endless{t: t, head: head, fill: 'x', most: 3 << 20}, "h", format, casPayloads)
		var d *Damage
		if !errors.As(err, &d) || !strings.Contains(err.Error(), "longer") {
			t.Errorf("%s: got %v, want that it is longer than it may be", format, err)
		}
	}
}

// TestManyEventsOnOneLine: what one event may hold does not limit the file.
func TestManyEventsOnOneLine(t *testing.T) {
	var text strings.Builder
	text.WriteString("[")
	for i := range 30_000 {
		fmt.Fprintf(&text, `{:process %d, :type :invoke, :f :write, :value 1} #_ "%s" `, i, strings.Repeat("x", 10))
	}
	text.WriteString("]")
	h, err := Read(strings.NewReader(text.String()), "h", Auto, casPayloads)
	if err != nil || len(h.Operations) != 30_000 {
		t.Errorf("%v operations, error %v", h, err)
	}
}
