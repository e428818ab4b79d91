package history

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// maxReadLine is the longest line that is read, in bytes. Recorders keep to
// MaxLine; a header may be longer.
const maxReadLine = 1 << 20

// readLines calls each for every line of r that is a JSON value, numbered from
// 1. A torn last line, which is what the death of a writer or a full disk
// leaves behind, is returned as torn; any other line that is no JSON is a
// *Damage.
func readLines(r io.Reader, name string, each func(line int, text []byte) error) (torn *Damage, err error) {
	in := bufio.NewReaderSize(r, 1<<16)
	for n := 1; ; n++ {
		text, err := readLine(in)
		switch {
		case errors.Is(err, errLong):
			return nil, &Damage{name, n, fmt.Sprintf("line longer than %d bytes", maxReadLine), fixCut}
		case err != nil && err != io.EOF:
			return nil, fmt.Errorf("read %s: %w", name, err)
		}
		last := err == io.EOF
		if last && len(text) == 0 {
			return torn, nil
		}
		if !json.Valid(text) {
			if _, peek := in.Peek(1); last || peek == io.EOF {
				return &Damage{name, n, "the last line is torn and was left out", ""}, nil
			}
			return nil, &Damage{name, n, "not JSON: " + excerpt(text), fixCut}
		}
		if last {
			torn = &Damage{name, n, "the last line has no end, its content is whole and was kept", ""}
		}
		if err := each(n, text); err != nil {
			return torn, err
		}
		if last {
			return torn, nil
		}
	}
}

var errLong = errors.New("line too long")

// readLine returns the next line without its newline. The slice is the
// caller's. With io.EOF the line had no newline.
func readLine(in *bufio.Reader) ([]byte, error) {
	var line []byte
	for {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		if len(line) > maxReadLine {
			return nil, errLong
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		return bytes.TrimSuffix(line, []byte{'\n'}), err
	}
}

func excerpt(text []byte) string {
	const keep = 60
	if len(text) > keep {
		return fmt.Sprintf("%.*q…", keep, text)
	}
	return fmt.Sprintf("%q", text)
}
