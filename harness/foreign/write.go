package foreign

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
)

// Only keeps the operations of one key, which may be given as EDN or as the
// text of a string, and takes the key off them.
func (h *History) Only(key string) (*History, error) {
	out := *h
	out.Operations, out.Keyed = nil, false
	var keys []string
	for _, op := range h.Operations {
		if op.Key == key || op.Key == quoted(key) {
			op.Key = ""
			out.Operations = append(out.Operations, op)
		} else if !slices.Contains(keys, op.Key) && len(keys) < 5 {
			keys = append(keys, op.Key)
		}
	}
	if !h.Keyed {
		return nil, &Damage{File: h.File, What: "expected independent keys, found a history without"}
	}
	if len(out.Operations) == 0 {
		return nil, &Damage{File: h.File, What: fmt.Sprintf("expected a key among %v, found none that is %q", keys, key)}
	}
	return &out, nil
}

// Write writes a history as Jepsen and Knossos read it: one map a line, nothing
// around them, as in the history.edn of a Jepsen run. Independent keys are
// values [key value]. Processes become numbers if they are none.
func (h *History) Write(w io.Writer) error {
	type line struct {
		place int64
		op    *Operation
		end   bool
	}
	var all []line
	for i := range h.Operations {
		op := &h.Operations[i]
		all = append(all, line{op.Call, op, false})
		if op.End != 0 {
			all = append(all, line{op.End, op, true})
		}
	}
	slices.SortStableFunc(all, func(x, y line) int { return cmp.Compare(x.place, y.place) })

	out := bufio.NewWriter(w)
	number := numbering(h.Operations)
	for i, l := range all {
		kind, value, at := "invoke", l.op.Value, l.op.CallTime
		if l.end {
			kind, at = map[Outcome]string{OK: "ok", Failed: "fail", Unknown: "info"}[l.op.Outcome], l.op.EndTime
		}
		if l.op.F == "read" && (!l.end || l.op.Outcome != OK) {
			value = Value{}
		}
		text := value.String()
		if h.Keyed {
			text = "[" + l.op.Key + " " + text + "]"
		}
		fmt.Fprintf(out, "{:process %s, :type :%s, :f :%s, :value %s", number[l.op.Process], kind, l.op.F, text)
		if at != NoTime {
			fmt.Fprintf(out, ", :time %d", at)
		}
		fmt.Fprintf(out, ", :index %d}\n", i)
	}
	return out.Flush()
}

// numbering gives the processes that are no numbers numbers that are free.
func numbering(ops []Operation) map[string]string {
	out, next := map[string]string{}, int64(0)
	for _, op := range ops {
		if n, err := strconv.ParseInt(op.Process, 10, 64); err == nil {
			out[op.Process] = op.Process
			next = max(next, n+1)
		}
	}
	for _, op := range ops {
		if out[op.Process] == "" {
			out[op.Process] = strconv.FormatInt(next, 10)
			next++
		}
	}
	return out
}
