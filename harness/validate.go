package harness

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/torture-harness/torture/harness/history"
)

// Validated is one history that can be judged.
type Validated struct {
	File string
	history.Survey
}

// Validate asks of a history, or of all of a folder, whether they can be judged
// at all, without judging them and without holding one in memory. What cannot
// be read or judged is a Usage, with file and line.
func Validate(path string) ([]Validated, error) {
	files := []string{path}
	if info, err := os.Stat(path); err != nil {
		return nil, Usage{err}
	} else if info.IsDir() {
		if files, err = historiesOf(path); err != nil {
			return nil, Usage{err}
		}
	}
	var out []Validated
	var failures []error
	for _, file := range files {
		survey, err := history.ValidateFile(file)
		if err != nil {
			failures = append(failures, err)
			continue
		}
		out = append(out, Validated{file, survey})
	}
	if len(failures) > 0 {
		return out, Usage{errors.Join(failures...)}
	}
	return out, nil
}

// historiesOf are the histories of a folder, by name.
func historiesOf(dir string) ([]string, error) {
	root, err := filepath.EvalSymlinks(dir) // results/latest is a link
	if err != nil {
		return nil, err
	}
	var files []string
	err = filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Name() == historyFile {
			files = append(files, filepath.Join(dir, path[len(root):]))
		}
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no %s is in it; give a folder of results/ or a history", dir, historyFile)
	}
	return files, err
}
