package history

import (
	"encoding/json"
	"reflect"
	"testing"
)

// decodable are lines, and whether the quick decoder knows their form.
var decodable = map[string]bool{
	`{}`:                      true,
	` { "t" : "note" } `:      true,
	`{"t":"note","time":-17}`: true,
	`{"t":"invoke","op":"a","time":123456789012345678,"kind":"read"}`: true,
	`{"op":"a","op":"b"}`:                   true,
	`{"seen":{"r0":"a","r1":"b"}}`:          true,
	`{"seen":{}}`:                           true,
	`{"op":"é"}`:                            false,
	`{"op":"\u0041"}`:                       false,
	`{"OP":"a"}`:                            false,
	`{"mood":"good"}`:                       false,
	`{"time":1.0}`:                          false,
	`{"time":1e3}`:                          false,
	`{"time":01}`:                           false,
	`{"time":-}`:                            false,
	`{"time":1234567890123456789}`:          false,
	`{"time":null}`:                         false,
	`{"time":"1"}`:                          false,
	`{"op":"a",}`:                           false,
	`{"op":"a"`:                             false,
	`{"op":"a"}}`:                           false,
	`{"op":"a`:                              false,
	`{"op"}`:                                false,
	`{"seen":{"r0":"a"},"seen":{"r1":"b"}}`: false,
	`{"seen":{"r0":"a",}}`:                  false,
	`[]`:                                    false,
	`17`:                                    false,
	``:                                      false,
}

// TestDecoder: what the quick decoder takes, encoding/json takes for the same.
func TestDecoder(t *testing.T) {
	for line, known := range decodable {
		if got := sameAsJSON(t, line); got != known {
			t.Errorf("%s: known to the quick decoder: %v, want %v", line, got, known)
		}
	}
	for _, line := range sample {
		sameAsJSON(t, line)
	}
}

func sameAsJSON(t *testing.T, line string) (known bool) {
	t.Helper()
	var quick, slow Event
	if !newDecoder().event([]byte(line), &quick) {
		return false
	}
	if err := json.Unmarshal([]byte(line), &slow); err != nil {
		t.Errorf("%q is taken for an event, and is none: %v", line, err)
	}
	if !reflect.DeepEqual(quick, slow) {
		t.Errorf("%s\nquick %+v\nslow  %+v", line, quick, slow)
	}
	return true
}

func FuzzDecoder(f *testing.F) {
	for line := range decodable {
		f.Add(line)
	}
	for _, line := range sample {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) { sameAsJSON(t, line) })
}
