package foreign

import (
	"io"
	"slices"
	"strings"
)

// The fields of an event in JSON lines. Only the first group decides anything.
var jsonFields = []string{"process", "type", "f", "value", "key", "time", "index", "error", "note"}

// readJSONL reads JSON lines, one event a line; docs/histories.md describes it.
func readJSONL(r io.Reader, file string, payloads Payloads) (*History, error) {
	a := newAssembly(file, JSONL, payloads)
	err := lines(r, file, func(n int, text []byte) error {
		if len(strings.TrimSpace(string(text))) == 0 {
			return nil
		}
		v, err := newJSONLine(text, file, n).whole()
		if err != nil {
			return err
		}
		e, err := a.fromObject(v)
		if err != nil {
			return err
		}
		return a.add(e)
	})
	if err != nil {
		return nil, err
	}
	return a.finish()
}

func (a *assembly) fromObject(v Value) (event, error) {
	e := event{at: v.Position, time: NoTime, index: -1}
	if v.Kind != Map {
		return e, a.damage(v.Position, "expected an event, which is a JSON object, found %s", shown(v.String()))
	}
	for i := 0; i < len(v.Items); i += 2 {
		if name := strings.Trim(v.Items[i].Text, `"`); !slices.Contains(jsonFields, name) {
			return e, a.damage(v.Items[i].Position, "expected one of the fields %s, found %s", strings.Join(jsonFields, ", "), shown(v.Items[i].Text))
		}
	}
	var err error
	if e.kind, err = a.word(v, "type"); err != nil {
		return e, err
	}
	if e.f, err = a.word(v, "f"); err != nil {
		return e, err
	}
	var has bool
	if e.process, has = v.field(`"process"`); !has {
		return e, a.damage(v.Position, `expected the field "process" in the event`)
	}
	e.value, e.valued = v.field(`"value"`)
	if key, has := v.field(`"key"`); has {
		if key.Kind != Scalar && key.Kind != Integer {
			return e, a.damage(key.Position, `expected a text or a number as "key", found %s`, shown(key.String()))
		}
		e.key = &key
	}
	if e.time, err = a.integer(v, `"time"`, NoTime); err != nil {
		return e, err
	}
	e.index, err = a.integer(v, `"index"`, -1)
	return e, err
}

func (a *assembly) word(v Value, name string) (string, error) {
	field, has := v.field(`"` + name + `"`)
	if !has {
		return "", a.damage(v.Position, "expected the field %q in the event", name)
	}
	if field.Kind != Scalar || !strings.HasPrefix(field.Text, `"`) {
		return "", a.damage(field.Position, "expected a text as %q, found %s", name, shown(field.String()))
	}
	return strings.Trim(field.Text, `"`), nil
}
