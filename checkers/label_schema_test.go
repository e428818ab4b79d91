package checkers

import (
	"encoding/json"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// TestLabelSchema: the schema that others read labels by says what the labels
// here are: the same fields, properties and verdicts.
func TestLabelSchema(t *testing.T) {
	text, err := os.ReadFile("../testdata/label.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		ID         string                     `json:"$id"`
		Required   []string                   `json:"required"`
		Properties map[string]json.RawMessage `json:"properties"`
		Defs       struct {
			Property struct {
				Enum []Property `json:"enum"`
			} `json:"property"`
			Verdicts struct {
				Values struct {
					Enum []Verdict `json:"enum"`
				} `json:"additionalProperties"`
			} `json:"verdicts"`
		} `json:"$defs"`
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	if schema.ID != labelFormat {
		t.Errorf("$id is %q, want %q", schema.ID, labelFormat)
	}
	fields := reflect.TypeFor[label]()
	for i := range fields.NumField() {
		name, options, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		if schema.Properties[name] == nil {
			t.Errorf("the schema has no %q", name)
		}
		if optional := options == "omitempty"; optional == slices.Contains(schema.Required, name) {
			t.Errorf("%q: optional is %v", name, optional)
		}
	}
	if len(schema.Properties) != fields.NumField() {
		t.Errorf("the schema has %d fields, a label %d", len(schema.Properties), fields.NumField())
	}
	if got, want := sorted(schema.Defs.Property.Enum), sorted(Properties); !slices.Equal(got, want) {
		t.Errorf("properties %q, want %q", got, want)
	}
	if got, want := sorted(schema.Defs.Verdicts.Values.Enum), sorted([]Verdict{Holds, Violated, Undecided, NotApplicable}); !slices.Equal(got, want) {
		t.Errorf("verdicts %q, want %q", got, want)
	}
}

func sorted[T ~string](all []T) []T { return slices.Sorted(slices.Values(all)) }
