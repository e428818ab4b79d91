package foreign

// forms calls each for every event of a file: every value in the one vector or
// list that it holds, or every value of the file. layout says which.
func (e edn) forms(each func(Value) error) (layout string, err error) {
	for {
		if err := e.blank(); err != nil {
			return layout, err
		}
		e.begin()
		r, more, err := e.peek()
		if err != nil || !more {
			return layout, err
		}
		at := e.next
		if layout == "" && (r == '[' || r == '(') {
			e.take()
			layout = map[rune]string{'[': "a vector", '(': "a list"}[r]
			if err := e.inside(at, r, each); err != nil {
				return layout, err
			}
			continue
		}
		v, end, ok, err := e.value(0)
		switch {
		case err != nil || !ok:
			return layout, err
		case end != nil:
			return layout, e.damage(end.at, "expected an event, found %q, which closes nothing", end.by)
		case layout != "" && layout != bareMaps:
			return layout, e.damage(v.Position, "expected the end of the file after the history, which is %s", layout)
		}
		layout = bareMaps
		if err := each(v); err != nil {
			return layout, err
		}
	}
}

const bareMaps = "bare maps"

// inside reads the events of a vector or list one by one: the history may be
// larger than any one of its events.
func (e edn) inside(at Position, open rune, each func(Value) error) error {
	for {
		if err := e.blank(); err != nil {
			return err
		}
		e.begin()
		v, end, ok, err := e.value(1)
		switch {
		case err != nil:
			return err
		case !ok:
			return e.damage(e.next, "expected %q to close the %q of line %d, column %d; the file ends", closing[open], open, at.Line, at.Column)
		case end != nil && end.by != closing[open]:
			return e.damage(end.at, "expected %q to close the %q of line %d, column %d; found %q", closing[open], open, at.Line, at.Column, end.by)
		case end != nil:
			return nil
		}
		if err := each(v); err != nil {
			return err
		}
	}
}
