package foreign

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
)

// lines calls each for every line, numbered from 1, without its end. A line
// that is too long is refused before it is in memory.
func lines(r io.Reader, file string, each func(n int, text []byte) error) error {
	in := bufio.NewReaderSize(r, 1<<16)
	var line []byte
	for n := 1; ; {
		part, err := in.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case len(line) > maxLine:
			return &Damage{file, Position{n, 1}, fmt.Sprintf("expected a line of at most %d bytes; this one is longer", maxLine)}
		case err == bufio.ErrBufferFull:
			continue
		case err != nil && err != io.EOF:
			return fmt.Errorf("read %s: %w", file, err)
		}
		last := err == io.EOF
		if last && len(line) == 0 {
			return nil
		}
		if err := each(n, bytes.TrimRight(line, "\r\n")); err != nil || last {
			return err
		}
		line = line[:0]
		n++
	}
}
