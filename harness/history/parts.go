package history

import (
	"fmt"
	"os"
	"path/filepath"
)

// MergeParts makes one history, dir/history.jsonl, of all parts in dir/parts.
// They are removed once it is written, and kept if that fails.
func MergeParts(dir string, header Header) error {
	parts, err := filepath.Glob(filepath.Join(dir, "parts", "*.jsonl"))
	if err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return fmt.Errorf("save the history: %w", err)
	}
	defer f.Close()
	if _, err := Merge(f, header, parts...); err != nil {
		return fmt.Errorf("merge the history: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("save the history: %w", err)
	}
	return os.RemoveAll(filepath.Join(dir, "parts"))
}
