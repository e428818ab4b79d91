package foreign

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/torture-harness/torture/harness/history"
)

// Format is how a file writes a history.
type Format string

// The formats. Run is the history.jsonl of this project.
const (
	Auto  Format = "auto"
	EDN   Format = "edn"
	JSONL Format = "jsonl"
	Log   Format = "jepsen-log"
	Run   Format = "history.jsonl"
)

// Formats are those that a user can name.
var Formats = []Format{Auto, JSONL, EDN, Log}

// ReadFile reads a history. With Auto the content decides which format it is.
// An error is a *Damage wherever the content is to blame.
func ReadFile(path string, format Format, payloads Payloads) (*History, error) {
	f, err := history.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return Read(f, path, format, payloads)
}

// Read reads a history from r; file is its name in messages.
func Read(r io.Reader, file string, format Format, payloads Payloads) (*History, error) {
	in := bufio.NewReaderSize(r, 1<<16)
	if format == Auto {
		var err error
		if format, err = detect(in, file); err != nil {
			return nil, err
		}
	}
	switch format {
	case EDN:
		return readEDN(in, file, payloads)
	case JSONL:
		return readJSONL(in, file, payloads)
	case Log:
		return readLog(in, file, payloads)
	}
	return nil, fmt.Errorf("%s: no reader for the format %q", file, format)
}

// Detect says which format a file has.
func Detect(path string) (Format, error) {
	f, err := history.Open(path)
	if err != nil {
		return "", err
	}
	defer f.Close()
	return detect(bufio.NewReaderSize(f, 1<<16), path)
}

var (
	jsonObject = regexp.MustCompile(`^\s*\{\s*(?:"|\}|$)`)
	jsonArray  = regexp.MustCompile(`^\s*\[\s*\{\s*"`)
	runHeader  = regexp.MustCompile(`^\s*\{\s*"t"\s*:`)
	ednStart   = regexp.MustCompile(`^[\s,\x{feff}]*(?:[\[({#;]|$)`)
)

// detect looks at the beginning of a file without reading on.
func detect(in *bufio.Reader, file string) (Format, error) {
	head, err := in.Peek(1 << 15)
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read %s: %w", file, err)
	}
	text := string(head)
	switch {
	case runHeader.MatchString(text):
		return Run, nil
	case jsonObject.MatchString(text):
		return JSONL, nil
	case jsonArray.MatchString(text):
		return "", &Damage{file, Position{1, 1}, "expected JSON lines, one event a line, found a JSON array"}
	case strings.TrimSpace(text) == "":
		return "", &Damage{File: file, What: "expected a history, found an empty file"}
	case ednStart.MatchString(text):
		return EDN, nil
	case logLine.MatchString(text):
		return Log, nil
	}
	return "", &Damage{file, Position{1, 1}, fmt.Sprintf("expected EDN, JSON lines or a log of Jepsen, found %q; name the format with --format if it is one of them", shown(firstLine(text)))}
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(text, "\n")
	return line
}
