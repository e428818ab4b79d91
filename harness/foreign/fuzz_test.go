package foreign

import (
	"bytes"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	ednlib "olympos.io/encoding/edn"
)

// fuzz is what must hold of every reader and every file: an error is one line
// with a place, and what was read can be written as EDN and read again.
func fuzz(t *testing.T, format Format, text []byte) {
	for _, payloads := range []Payloads{
		casPayloads,
		{"acquire": One, "release": One},
		{"read": One, "write": Two},
	} {
		h, err := Read(bytes.NewReader(text), "h", format, payloads)
		if err != nil {
			var d *Damage
			if !errors.As(err, &d) || strings.ContainsAny(err.Error(), "\n\r\x1b") || !utf8.ValidString(err.Error()) {
				t.Fatalf("error %q", err)
			}
			continue
		}
		if len(h.Operations) == 0 {
			t.Fatal("no operations, no error")
		}
		var out bytes.Buffer
		if err := h.Write(&out); err != nil {
			t.Fatal(err)
		}
		again, err := Read(bytes.NewReader(out.Bytes()), "h", EDN, payloads)
		if err != nil {
			t.Fatalf("%v: it cannot be read again:\n%s", err, out.String())
		}
		if got, want := judged(again), judged(h); got != want {
			t.Fatalf("written and read again:\n%s\nwant\n%s", got, want)
		}
	}
}

// judged is what a verdict depends on. Processes may have become numbers, and
// the value of a read without a result is not kept.
func judged(h *History) string {
	c := *h
	c.Operations = append([]Operation(nil), h.Operations...)
	numbers := numbering(h.Operations)
	first := map[string]string{}
	for i := range c.Operations {
		op := &c.Operations[i]
		if first[op.Process] == "" {
			first[op.Process] = numbers[op.Process]
		}
		op.Process = first[op.Process]
		if op.F == "read" && op.Outcome != OK {
			op.Value = Value{}
		}
		op.Call, op.Return = 0, min(op.Return, Never)
		if op.Return != Never {
			op.Return = 1
		}
	}
	return told(&c) + order(h)
}

// order is which operation returned before which was called.
func order(h *History) string {
	places := map[int64]byte{}
	for _, op := range h.Operations {
		places[op.Call] = 'c'
		if op.End != 0 {
			places[op.End] = 'r'
		}
	}
	var out strings.Builder
	for place := int64(0); len(places) > 0; place++ {
		if b, there := places[place]; there {
			out.WriteByte(b)
			delete(places, place)
		}
	}
	return out.String()
}

func FuzzEDN(f *testing.F) {
	for _, seed := range []string{
		`{:process 0, :type :invoke, :f :write, :value 1}`,
		"[{:process 0 :type :invoke :f :cas :value [1 2]},\n{:process 0 :type :ok :f :cas :value [1 2]}] ; end",
		`(#jepsen.history.Op{:index 0, :time 3, :process 1, :type :invoke, :f :read, :value #x/tuple [:k nil]} {:process 1 :type :ok :f :read :value [:k "é\n\u00e9"]})`,
		`{:process :nemesis :type :info :f :start} {:process 5 :type :invoke :f :acquire} {:process 5 :type :info :f :acquire :error [:x]}`,
		`#_{} {:process 2N :type :invoke :f :write :value #{1 {:a \newline} 2.5M -0.0 #inst "x"}}`,
		`{:process "a" :type :invoke :f :write :value ["v" 7]} {:process "a" :type :ok :f :write}`,
		"[[[[[[[[[[[[", `{:process "`, "#", `\`, `"\u00`, "\xff", "\ufeff[]", "99999999999999999999999999", "1e999 01 -", ": ::a :a/b",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { fuzz(t, EDN, text) })
}

func FuzzLog(f *testing.F) {
	for _, seed := range []string{
		"INFO  jepsen.util - 0\t:invoke\t:read\tnil\nINFO  jepsen.util - 0\t:ok\t:read\t3\n",
		"INFO  jepsen.util - 0\t:invoke\t:cas\t[1 2]\nINFO  jepsen.util - 0\t:info\t:cas\t:timed-out\n",
		"2021-02-26 23:39:01,300{GMT}\tINFO\t[jepsen worker 1] jepsen.util: 1\t:invoke\t:write\t[0 2]\nnoise\n",
		"INFO  jepsen.util - :nemesis\t:info\t:start\t\"x\"\nINFO  jepsen.util - 3 :invoke :acquire",
		"jepsen.util - 0\t:o", "jepsen.util: ", "jepsen.util - 0 : :", "jepsen.util - 0 :ok :read [[[[",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { fuzz(t, Log, text) })
}

func FuzzJSONL(f *testing.F) {
	for _, seed := range []string{
		`{"process":0,"type":"invoke","f":"write","value":1}` + "\n" + `{"process":0,"type":"ok","f":"write","value":1,"time":5,"index":3}`,
		`{"process":"a","type":"invoke","f":"cas","value":[null,"é\u00e9"],"key":"r"}` + "\r\n\r\n",
		`{"process":"nemesis","type":"info","f":"x"}` + "\n" + `{"process":1.0,"type":"invoke","f":"acquire","value":{"b":[1,2],"a":-0.5e3}}`,
		`{"process":0,"type":"invoke","f":"write","value":["v",7]}`,
		`{"process":`, `{"a":1,"a":2}`, `[[[[`, `{"process":"\ud800"}`, "\xff", "1e999", `{"value":"` + "\u2028" + `"}`, "{}", "null",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) { fuzz(t, JSONL, text) })
}

// FuzzLibrary: what our reader takes for one value of EDN, a library that is
// used elsewhere does not refuse. (The other way round need not hold: ours is
// strict.)
func FuzzLibrary(f *testing.F) {
	for _, seed := range []string{
		`{:a [1 2.5 "x\n\u00e9"] :b #{nil true \c \newline} :c (a b/c)}`, `#inst "2020-01-01T00:00:00Z"`, `#_ 1 -7N`, `+7`, `1.5M`, `[:a/b :c.d]`, `"\""`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		values, err := ednValues(text, "h", Position{1, 1})
		if err != nil || len(values) != 1 || !plainValue(values[0]) {
			return
		}
		var theirs any
		if err := ednlib.UnmarshalString(values[0].String(), &theirs); err != nil {
			t.Errorf("%q, in normal form %q: %v", text, values[0], err)
		}
	})
}

// plainValue: the library takes ASCII names only, knows other tags, and no
// integers beyond 64 bits.
func plainValue(v Value) bool {
	if _, fits := v.Int(); v.Kind == Integer && !fits {
		return false
	}
	if v.Kind == Tagged || v.Kind == Keyword || v.Kind == Scalar && !strings.HasPrefix(v.Text, `"`) {
		return false
	}
	for _, item := range v.Items {
		if !plainValue(item) {
			return false
		}
	}
	return true
}
