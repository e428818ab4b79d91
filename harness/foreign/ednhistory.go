package foreign

import (
	"io"
	"strings"
)

// readEDN reads events that are maps with the keys of jepsen.history:
// :process, :type, :f, :value, and perhaps :time and :index.
func readEDN(r io.Reader, file string, payloads Payloads) (*History, error) {
	a := newAssembly(file, EDN, payloads)
	layout, err := edn{newScanner(r, file)}.forms(func(v Value) error {
		e, err := a.fromMap(v)
		if err != nil {
			return err
		}
		return a.add(e)
	})
	if err != nil {
		return nil, err
	}
	a.h.Layout = layout
	return a.finish()
}

// fromMap is the event of a map. The record of jepsen.history is printed with
// its name as a tag.
func (a *assembly) fromMap(v Value) (event, error) {
	if v.Kind == Tagged && !strings.HasPrefix(v.Text, ":") {
		v = v.Items[0]
	}
	e := event{at: v.Position, time: NoTime, index: -1}
	if v.Kind != Map {
		return e, a.damage(v.Position, "expected an event, which is a map, found %s", shown(v.String()))
	}
	var err error
	if e.kind, err = a.name(v, ":type"); err != nil {
		return e, err
	}
	if e.f, err = a.name(v, ":f"); err != nil {
		return e, err
	}
	var has bool
	if e.process, has = v.field(":process"); !has {
		return e, a.damage(v.Position, "expected the key :process in the event")
	}
	e.value, e.valued = v.field(":value")
	if e.time, err = a.integer(v, ":time", NoTime); err != nil {
		return e, err
	}
	e.index, err = a.integer(v, ":index", -1)
	return e, err
}

// name is a keyword without its colon; what the nemesis does may be anything.
func (a *assembly) name(v Value, key string) (string, error) {
	field, has := v.field(key)
	if !has {
		return "", a.damage(v.Position, "expected the key %s in the event", key)
	}
	return strings.TrimPrefix(field.String(), ":"), nil
}

func (a *assembly) integer(v Value, key string, missing int64) (int64, error) {
	field, has := v.field(key)
	if !has || field.Kind == Nil {
		return missing, nil
	}
	n, ok := field.Int()
	if !ok {
		return 0, a.damage(field.Position, "expected an integer of 64 bits as %s, found %s", key, shown(field.String()))
	}
	return n, nil
}
