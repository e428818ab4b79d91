package history

import (
	"cmp"
	"slices"
	"testing"
)

// valid is a history in which one client updates, another one follows, and an
// unknown write is seen.
func valid() *History {
	op := func(id, process string, kind Kind, call, ret int64, more func(*Operation)) Operation {
		o := Operation{
			ID: id, Process: process + "#1", Worker: process, Client: process + "/r00", Resource: "r00", Kind: kind,
			Call: call, Return: ret, Completed: ret, Outcome: OK, Line: int(call), End: int(ret),
		}
		if more != nil {
			more(&o)
		}
		return o
	}
	return &History{File: "h.jsonl", Operations: []Operation{
		op("g1", "a", Acquire, 1, 2, func(o *Operation) { o.Grant = "g1" }),
		op("r1", "a", Read, 3, 4, func(o *Operation) { o.Grant, o.WriteID = "g1", InitialWrite }),
		op("x1", "a", Write, 5, 6, func(o *Operation) { o.Grant, o.WriteID, o.Basis = "g1", "x1", InitialWrite }),
		op("l1", "a", Release, 7, 8, func(o *Operation) { o.Grant = "g1" }),
		op("g2", "b", Acquire, 10, 11, func(o *Operation) { o.Grant = "g2" }),
		op("c2", "b", Claim, 12, 13, func(o *Operation) { o.Grant, o.WriteID = "g2", "x1" }),
		op("x2", "b", Write, 14, Never, func(o *Operation) {
			o.Grant, o.WriteID, o.Basis, o.Outcome, o.End = "g2", "x2", "x1", Info, 15
		}),
		op("r3", "c", Read, 20, 21, func(o *Operation) { o.WriteID = "x2" }),
		op("x3", "c", Write, 22, 23, func(o *Operation) { o.WriteID, o.Basis = "x3", "x2" }),
	}}
}

func TestValidate(t *testing.T) {
	if err := valid().Validate(); err != nil {
		t.Fatal(err)
	}
	const g1, r1, x1, l1, g2, c2, x2, r3, x3 = 0, 1, 2, 3, 4, 5, 6, 7, 8
	for _, c := range []struct {
		name   string
		change func(h *History, o []Operation)
		line   int
		what   string
	}{
		{"an id twice", func(_ *History, o []Operation) { o[l1].ID = "r1" }, 7, `id "r1" was used before, in line 3`},
		{"a write id twice", func(_ *History, o []Operation) { o[x3].WriteID = "x1" }, 22, `write id "x1" was used before, in line 5`},
		{"the initial id is written", func(_ *History, o []Operation) { o[x3].WriteID = InitialWrite }, 22, "initial document"},
		{"never completed", func(_ *History, o []Operation) { o[l1].Outcome, o[l1].Return = "", Never }, 7, "never completed"},
		{"returned before its call", func(_ *History, o []Operation) { o[r1].Return = 2 }, 4, "not after its call"},
		{"returned at its call", func(_ *History, o []Operation) { o[r1].Return = 3 }, 4, "not after its call"},
		{"two at once", func(_ *History, o []Operation) { o[r1].Return = 6 }, 5, `before "r1" (line 3) has returned`},
		{"goes on after unknown", func(_ *History, o []Operation) {
			o[x3].Process, o[x3].Client, o[r3].Process, o[r3].Client = "b#1", "b/r00", "b#1", "b/r00"
		}, 20, `goes on with "r3" although the outcome of "x2"`},
		{"saw what nobody wrote", func(_ *History, o []Operation) { o[r1].WriteID = "ghost" }, 4, `saw "ghost", which nobody wrote`},
		{"saw another resource's", func(_ *History, o []Operation) { o[r3].Resource, o[x3].Resource = "r01", "r01" }, 21, `nobody wrote to r01`},
		{"saw a refused write", func(_ *History, o []Operation) { o[x1].Outcome = Rejected }, 13, `ended with "rejected"`},
		{"saw a failed write", func(_ *History, o []Operation) { o[x1].Outcome = Fail }, 13, `ended with "fail"`},
		{"saw the future", func(h *History, o []Operation) {
			o[r3].Call, o[r3].Return, o[r3].Line, o[r3].End = 9, 10, 9, 10
		}, 10, `saw "x2" before it was called`},
		{"a basis that was not read", func(_ *History, o []Operation) { o[x3].Basis = "x1" }, 22, `based on "x1", which c/r00 had not read`},
		{"a basis that another client read", func(_ *History, o []Operation) { o[r3].Client = "d/r00" }, 22, "had not read"},
		{"a basis read too late", func(_ *History, o []Operation) { o[r3].Process, o[r3].Return, o[x3].Process = "c#1", 23, "c#1" }, 22, "before"},
		{"a basis from a failed read", func(_ *History, o []Operation) { o[r3].Outcome = Fail }, 22, "had not read"},
		{"a write on itself", func(_ *History, o []Operation) { o[x3].Basis = "x3" }, 22, "based on itself"},
		{"a grant that nobody acquired", func(_ *History, o []Operation) { o[l1].Grant = "g9" }, 7, `"g9", which nobody acquired`},
		{"a grant that is a read", func(_ *History, o []Operation) { o[l1].Grant = "r1" }, 7, "nobody acquired"},
		{"a grant that failed", func(_ *History, o []Operation) { o[g1].Outcome = Fail }, 3, `ended with "fail"`},
		{"another's grant", func(_ *History, o []Operation) { o[x2].Grant = "g1" }, 14, `of b/r00 runs under grant "g1" of a/r00`},
		{"another resource's grant", func(_ *History, o []Operation) { o[l1].Resource = "r01" }, 7, "runs under grant"},
		{"a grant from the future", func(_ *History, o []Operation) { o[g1].Process, o[g1].Call, o[g1].Return = "a#0", 1, 4 }, 3, "before its grant"},
		{"a grant goes on after an unknown write", func(h *History, o []Operation) {
			o[r3].Client, o[x3].Client, o[r3].Process, o[x3].Process, o[x3].Grant = "b/r00", "b/r00", "b#2", "b#2", "g2"
		}, 22, `grant "g2" goes on with write "x3"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			h := valid()
			c.change(h, h.Operations)
			slices.SortStableFunc(h.Operations, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
			expectDamage(t, h.Validate(), c.line, c.what)
		})
	}
}

// TestValidateAllows: what looks odd and is not wrong.
func TestValidateAllows(t *testing.T) {
	const r1, x1, l1, c2, r3, x3 = 1, 2, 3, 5, 7, 8
	for _, c := range []struct {
		name   string
		change func(o []Operation)
	}{
		{"called when the last one returned", func(o []Operation) { o[r1].Return = 5 }},
		{"saw a write in flight", func(o []Operation) { o[x1].Return, o[l1].Call, o[l1].Return = 30, 31, 32 }},
		{"saw a write at its call", func(o []Operation) {
			o[r1].Call, o[r1].Return, o[x1].Call, o[x1].Return, o[c2].Return = 2, 3, 13, 30, 13
			o[l1].Call, o[l1].Return = 31, 32
		}},
		{"release after an unknown write, by a new process", func(o []Operation) {
			o[x3] = o[l1]
			o[x3].ID, o[x3].Process, o[x3].Client, o[x3].Grant, o[x3].Call, o[x3].Return = "l2", "b#2", "b/r00", "g2", 22, 23
		}},
		{"nobody saw the unknown write", func(o []Operation) { o[r3].WriteID, o[x3].Basis = "x1", "x1" }},
	} {
		h := valid()
		c.change(h.Operations)
		slices.SortStableFunc(h.Operations, func(a, b Operation) int { return cmp.Compare(a.Call, b.Call) })
		if err := h.Validate(); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

// A client goes on as another process after an unknown outcome, and still
// knows what it has read.
func TestBasisOfAnEarlierProcess(t *testing.T) {
	h := valid()
	h.Operations[7].Process = "c#0"
	if err := h.Validate(); err != nil {
		t.Error(err)
	}
}

// Where resending is what a history is about, a grant may go on after a write
// whose fate is unknown.
func TestResends(t *testing.T) {
	h := valid()
	for i := range h.Operations[7:] {
		op := &h.Operations[7+i]
		op.Client, op.Process = "b/r00", "b#2"
	}
	h.Operations[8].Grant = "g2"
	if err := h.Validate(); err == nil {
		t.Error("it is said not to resend, and was accepted")
	}
	h.Header.Resends = true
	if err := h.Validate(); err != nil {
		t.Error(err)
	}
}
