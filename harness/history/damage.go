package history

import "fmt"

// Damage is a place in a file that makes it unusable as evidence: it cannot be
// read, or what it says cannot have happened.
type Damage struct {
	File string // as given by the caller
	Line int    // from 1; 0 when no single line is to blame
	What string // what is wrong
	Fix  string // what to do about it
}

// Error is one line: "file:line: what; what to do".
func (d *Damage) Error() string {
	where := d.File
	if d.Line > 0 {
		where = fmt.Sprintf("%s:%d", d.File, d.Line)
	}
	if d.Fix == "" {
		return where + ": " + d.What
	}
	return where + ": " + d.What + "; " + d.Fix
}

// What to do about the kinds of damage.
const (
	fixCut      = "the file was cut or edited, run the cell again"
	fixVersion  = "it was written by another version of torture, use that one"
	fixRecorder = "this is a fault of the recorder or of an edit, run the cell again"
)
