// Package rootfs packs the little that a server needs to run, its programs, the
// libraries that they load and their data, into the archive of a file system
// from which a container image can be made. It takes them from Debian packages
// or from this machine, and needs no root for either.
package rootfs

import (
	"archive/tar"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"sort"
	"strings"
)

// Tree is a folder that looks like the root of a file system.
type Tree string

// Content says what goes into an archive. Paths are absolute, as they will be
// in the image.
type Content struct {
	Programs map[string]string // path in the image → path in the tree; with all the libraries that it loads
	Data     []string          // folders of the tree, whole; programs and libraries among them bring their libraries
	Skip     []string          // base names or patterns not to take from Data
	Files    map[string]string // path in the image → its text
}

// entry is one file of the archive.
type entry struct {
	source string // on this machine; "" for text or link
	text   string
	link   string // target of a symbolic link
	mode   fs.FileMode
}

// Pack writes the archive of c, as tar. The same content gives the same bytes.
func Pack(w io.Writer, tree Tree, c Content) error {
	p := packer{tree: tree, entries: map[string]entry{}}
	for to, from := range c.Programs {
		if err := p.program(to, from); err != nil {
			return err
		}
	}
	for _, dir := range c.Data {
		if err := p.data(dir, c.Skip); err != nil {
			return err
		}
	}
	for to, text := range c.Files {
		p.entries[to] = entry{text: text, mode: 0o644}
	}
	return p.write(w)
}

type packer struct {
	tree    Tree
	entries map[string]entry // path in the image → file
}

// file is the real place of a path of the tree, symbolic links followed.
func (p *packer) file(name string) (string, error) {
	real, err := filepath.EvalSymlinks(filepath.Join(string(p.tree), name))
	if err != nil {
		return "", err
	}
	if p.tree != "/" && !strings.HasPrefix(real, string(p.tree)+"/") {
		return "", fmt.Errorf("%s leads out of %s", name, p.tree)
	}
	return real, nil
}

func (p *packer) program(to, from string) error {
	real, err := p.file(from)
	if err != nil {
		return err
	}
	p.entries[to] = entry{source: real, mode: 0o755}
	return p.libraries(real)
}

func (p *packer) data(dir string, skip []string) error {
	top, err := p.file(dir)
	if err != nil {
		return err
	}
	return filepath.WalkDir(top, func(real string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if skipped(d.Name(), skip) {
			if d.IsDir() {
				return filepath.SkipDir
			}
			return nil
		}
		inside, err := filepath.Rel(top, real)
		if err != nil {
			return err
		}
		return p.datum(path.Join(dir, inside), real, d)
	})
}

func (p *packer) datum(to, real string, d fs.DirEntry) error {
	switch {
	case d.Type()&fs.ModeSymlink != 0:
		target, err := os.Readlink(real)
		if err != nil || filepath.IsAbs(target) {
			return err // one that leads elsewhere is of no use in the image
		}
		p.entries[to] = entry{link: target}
	case d.Type().IsRegular():
		info, err := d.Info()
		if err != nil {
			return err
		}
		p.entries[to] = entry{source: real, mode: info.Mode().Perm()}
		return p.libraries(real)
	}
	return nil
}

func skipped(name string, patterns []string) bool {
	for _, pattern := range patterns {
		if ok, _ := path.Match(pattern, name); ok {
			return true
		}
	}
	return false
}

func (p *packer) write(w io.Writer) error {
	names := make([]string, 0, len(p.entries))
	for name := range p.entries {
		names = append(names, name)
	}
	sort.Strings(names)
	t := tar.NewWriter(w)
	made := map[string]bool{"/": true}
	if err := folder(t, "/tmp", 0o1777, made); err != nil {
		return err
	}
	for _, name := range names {
		if err := folder(t, path.Dir(name), 0o755, made); err != nil {
			return err
		}
		if err := p.entries[name].write(t, name); err != nil {
			return fmt.Errorf("pack %s: %w", name, err)
		}
	}
	return t.Close()
}

// folder writes a folder and those above it, once.
func folder(t *tar.Writer, name string, mode int64, made map[string]bool) error {
	if made[name] {
		return nil
	}
	made[name] = true
	if err := folder(t, path.Dir(name), 0o755, made); err != nil {
		return err
	}
	return t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name[1:] + "/", Mode: mode})
}

func (e entry) write(t *tar.Writer, name string) error {
	h := tar.Header{Typeflag: tar.TypeReg, Name: name[1:], Mode: int64(e.mode), Linkname: e.link}
	if e.link != "" {
		h.Typeflag = tar.TypeSymlink
		return t.WriteHeader(&h)
	}
	var content io.Reader = strings.NewReader(e.text)
	h.Size = int64(len(e.text))
	if e.source != "" {
		f, err := os.Open(e.source)
		if err != nil {
			return err
		}
		defer f.Close()
		info, err := f.Stat()
		if err != nil {
			return err
		}
		content, h.Size = f, info.Size()
	}
	if err := t.WriteHeader(&h); err != nil {
		return err
	}
	_, err := io.Copy(t, content)
	return err
}
