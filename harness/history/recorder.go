package history

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// MaxLine is the longest line a recorder writes, in bytes. Up to this size one
// write(2) to a file opened with O_APPEND is not torn by other writers.
const MaxLine = 4096

// Recorder appends events to a file, one unbuffered write(2) each, so that what
// has been recorded survives the death of the process at any moment.
type Recorder struct {
	mu   sync.Mutex
	file *os.File
	buf  []byte
}

// NewRecorder opens path for appending, and makes it if need be.
func NewRecorder(path string) (*Recorder, error) {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open history: %w", err)
	}
	return &Recorder{file: f}, nil
}

// Write records one event before it returns. An error means that the history
// is not complete from here on: the run must end with status error.
func (r *Recorder) Write(e Event) error {
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	if len(line) >= MaxLine && (e.Error != "" || e.Note != "") {
		e.Error, e.Note = shorten(e.Error), shorten(e.Note)
		if line, err = json.Marshal(e); err != nil {
			return fmt.Errorf("encode event: %w", err)
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.buf = append(append(r.buf[:0], line...), '\n')
	if n, err := r.file.Write(r.buf); err != nil {
		return fmt.Errorf("write history (%d of %d bytes): %w", n, len(r.buf), err)
	}
	return nil
}

// Close closes the file.
func (r *Recorder) Close() error { return r.file.Close() }

func shorten(s string) string {
	const keep = 500
	if len(s) > keep {
		return s[:keep] + "…"
	}
	return s
}
