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
// 1; the text is only lent. A torn last line, which is what the death of a
// writer or a full disk leaves behind, is returned as torn; any other line that
// is no JSON is a *Damage. quick, unless nil, may know cheaply that a line is JSON.
func readLines(r io.Reader, name string, quick func(text []byte) bool, each func(line int, text []byte) error) (torn *Damage, err error) {
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
		if (quick == nil || !quick(text)) && !json.Valid(text) {
			what := "not JSON: " + excerpt(text) // before looking further, which moves the text
			if _, peek := in.Peek(1); last || peek == io.EOF {
				return &Damage{name, n, "the last line is torn and was left out", ""}, nil
			}
			return nil, &Damage{name, n, what, fixCut}
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

// readLine returns the next line without its newline, which is good until the
// next one is read. With io.EOF the line had no newline.
func readLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if err == bufio.ErrBufferFull {
		line = bytes.Clone(line)
		for err == bufio.ErrBufferFull {
			var part []byte
			part, err = in.ReadSlice('\n')
			line = append(line, part...)
			if len(line) > maxReadLine {
				return nil, errLong
			}
		}
	}
	return bytes.TrimSuffix(line, []byte{'\n'}), err
}

func excerpt(text []byte) string {
	const keep = 60
	if len(text) > keep {
		return fmt.Sprintf("%.*q…", keep, text)
	}
	return fmt.Sprintf("%q", text)
}
