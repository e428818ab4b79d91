package cluster

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// createLog makes the (empty) log of a server in dir/logs.
func createLog(dir, name string) (string, error) {
	logs := filepath.Join(dir, "logs")
	if err := os.MkdirAll(logs, 0o755); err != nil {
		return "", fmt.Errorf("make the folder of the logs: %w", err)
	}
	path := filepath.Join(logs, name+".log")
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o644)
	if err != nil {
		return "", fmt.Errorf("make the log of %s: %w", name, err)
	}
	return path, f.Close()
}

func appendLog(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		return nil, fmt.Errorf("open a server's log: %w", err)
	}
	return f, nil
}

// lastWords is the end of an error message: the last lines of the server's log,
// on one line, and where to read the rest.
func (s *Server) lastWords() string {
	lines := tail(s.Log, 3)
	if len(lines) == 0 {
		return fmt.Sprintf(" (its log is empty: %s)", s.Log)
	}
	return fmt.Sprintf(": %s (log: %s)", strings.Join(lines, " | "), s.Log)
}

// tail returns the last n lines of a file that are not empty.
func tail(path string, n int) []string {
	const enough = 8 << 10
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Size() > enough {
		_, _ = f.Seek(-enough, io.SeekEnd)
	}
	content, _ := io.ReadAll(f)
	var lines []string
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines[max(0, len(lines)-n):]
}

// portTaken says whether a server ended because somebody has its port.
func portTaken(log string) bool {
	return strings.Contains(strings.ToLower(strings.Join(tail(log, 20), "\n")), "address already in use")
}
