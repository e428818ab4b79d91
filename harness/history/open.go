package history

import (
	"fmt"
	"io"
	"os"
)

// Open opens a saved file for reading. Anything but a regular file is refused:
// reading a pipe or a device could wait for ever.
func Open(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s: not a regular file; give a folder that a run has written", path)
	}
	return os.Open(path)
}

// ReadSaved reads a whole saved file. See Open.
func ReadSaved(path string) ([]byte, error) {
	f, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}
