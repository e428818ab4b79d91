package report

import (
	"encoding/json"
	"fmt"
	"path/filepath"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

// IsExplore reports whether a folder holds an exploration.
func IsExplore(dir string) bool { return schemaOf(dir) == result.ExploreSchema }

// schemaOf is the schema of a folder's result.json, "" if it has none.
func schemaOf(dir string) string {
	var head struct {
		Schema string `json:"schema"`
	}
	data, err := history.ReadSaved(filepath.Join(dir, "result.json"))
	if err != nil || json.Unmarshal(data, &head) != nil {
		return ""
	}
	return head.Schema
}

// ReadExplore reads the result of an exploration.
func ReadExplore(dir string) (result.Explore, error) {
	var res result.Explore
	path := filepath.Join(dir, "result.json")
	data, err := history.ReadSaved(path)
	if err != nil {
		return res, err
	}
	if err := json.Unmarshal(data, &res); err != nil {
		return res, fmt.Errorf("%s: no result: %w", path, err)
	}
	if res.Schema != result.ExploreSchema {
		return res, fmt.Errorf("%s: schema %q; this version reads %q", path, res.Schema, result.ExploreSchema)
	}
	return res, nil
}
