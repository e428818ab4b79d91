package rootfs

import (
	"debug/elf"
	"errors"
	"fmt"
	"io"
	"path"
	"path/filepath"
	"strings"
)

// libraryFolders is where the loader of Debian and its descendants looks
// (ld.so(8)); the first pattern is for its folders by architecture.
var libraryFolders = []string{"/usr/lib/*-linux-gnu*", "/lib/*-linux-gnu*", "/usr/lib64", "/lib64", "/usr/lib", "/lib"}

// libraries adds what the program or library at real loads, and what that
// loads, and the loader itself. Files that are neither need nothing.
func (p *packer) libraries(real string) error {
	f, err := elf.Open(real)
	var format *elf.FormatError
	if errors.As(err, &format) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return nil // not an ELF file
	}
	if err != nil {
		return err
	}
	defer f.Close()
	needed, err := f.ImportedLibraries()
	if err != nil {
		return fmt.Errorf("%s: %w", real, err)
	}
	if loader := interpreter(f); loader != "" {
		needed = append(needed, "libgcc_s.so.1") // loaded by name when a thread is cancelled
		if err := p.add(loader, loader); err != nil {
			return err
		}
	}
	for _, name := range needed {
		from, err := p.find(name)
		if err != nil {
			return fmt.Errorf("%s needs %s: %w", real, name, err)
		}
		if err := p.add(from, from); err != nil {
			return err
		}
	}
	return nil
}

// add adds a library once, with its own libraries.
func (p *packer) add(to, from string) error {
	if _, done := p.entries[to]; done {
		return nil
	}
	return p.program(to, from)
}

// find looks a library up as the loader would.
func (p *packer) find(name string) (string, error) {
	for _, pattern := range libraryFolders {
		found, _ := filepath.Glob(filepath.Join(string(p.tree), pattern, name))
		for _, one := range found {
			inside := path.Join("/", strings.TrimPrefix(one, string(p.tree)))
			if real, err := p.file(inside); err == nil && isELF(real) {
				return inside, nil
			}
		}
	}
	return "", errors.New("there is no such library")
}

func isELF(real string) bool {
	f, err := elf.Open(real)
	if err != nil {
		return false
	}
	_ = f.Close()
	return true
}

// interpreter is the loader that a program asks for, "" for a library or a
// static program.
func interpreter(f *elf.File) string {
	for _, segment := range f.Progs {
		if segment.Type == elf.PT_INTERP {
			text, err := io.ReadAll(segment.Open())
			if err == nil {
				return strings.TrimRight(string(text), "\x00")
			}
		}
	}
	return ""
}
