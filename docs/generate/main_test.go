package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestOnlyARunThatPassedIsShown(t *testing.T) {
	dir := t.TempDir()
	for status, want := range map[string]string{"inconclusive": "only a run that passed", "fail": "only a run that passed", "pass": ""} {
		if err := os.WriteFile(filepath.Join(dir, "result.json"), []byte(`{"status":"`+status+`"}`), 0o644); err != nil {
			t.Fatal(err)
		}
		_, err := passed(dir)
		if (err == nil) != (want == "") || err != nil && (!strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", status, err)
		}
	}
	if _, err := passed(t.TempDir()); err == nil {
		t.Error("a folder without a result passed")
	}
}
