package rootfs

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// pack returns the files of an archive: their text, or "-> target" for links.
func pack(t *testing.T, tree Tree, c Content) map[string]string {
	t.Helper()
	var archive bytes.Buffer
	if err := Pack(&archive, tree, c); err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for r := tar.NewReader(&archive); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return files
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		name := "/" + h.Name
		switch h.Typeflag {
		case tar.TypeSymlink:
			files[name] = "-> " + h.Linkname
		case tar.TypeReg:
			files[name] = string(text)
		}
		if h.Uid != 0 || h.Gid != 0 {
			t.Errorf("%s belongs to %d:%d", name, h.Uid, h.Gid)
		}
	}
}

// unpack writes the files of an archive below a new folder.
func unpack(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestProgramRunsFromItsArchiveAlone(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a folder the root of a process")
	}
	dir := unpack(t, pack(t, "/", Content{Programs: map[string]string{"/bin/said": "/bin/sh"}}))
	cmd := exec.Command("chroot", dir, "/bin/said", "-c", "echo it runs; echo /*")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "it runs\n") || strings.Contains(string(out), "/etc") {
		t.Errorf("%q: %v", out, err)
	}
}

func TestSameBytes(t *testing.T) {
	c := Content{Programs: map[string]string{"/bin/sh": "/bin/sh"}, Files: map[string]string{"/etc/passwd": "x", "/a/b/c": "y"}}
	var one, two bytes.Buffer
	if err := errors.Join(Pack(&one, "/", c), Pack(&two, "/", c)); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(one.Bytes(), two.Bytes()) {
		t.Error("two archives of one content differ")
	}
}

func makeTree(t *testing.T, files map[string]string) Tree {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if target, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(target, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return Tree(dir)
}

func TestData(t *testing.T) {
	tree := makeTree(t, map[string]string{
		"/share/a": "a", "/share/sub/b": "b", "/share/sub/skipped.bc": "no", "/share/bitcode/c": "no",
		"/share/near": "-> a", "/share/far": "-> /etc/passwd", "/other": "no",
	})
	got := pack(t, tree, Content{Data: []string{"/share"}, Skip: []string{"bitcode", "*.bc"}, Files: map[string]string{"/etc/group": "g"}})
	want := map[string]string{"/share/a": "a", "/share/sub/b": "b", "/share/near": "-> a", "/etc/group": "g"}
	if len(got) != len(want) {
		t.Errorf("got %v", got)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q, want %q", name, got[name], text)
		}
	}
}

func TestNothingFromOutsideTheTree(t *testing.T) {
	tree := makeTree(t, map[string]string{"/bin/passwd": "-> /etc/passwd"})
	err := Pack(io.Discard, tree, Content{Programs: map[string]string{"/x": "/bin/passwd"}})
	if err == nil || !strings.Contains(err.Error(), "leads out of") {
		t.Errorf("pack: %v", err)
	}
}

func TestMissingFiles(t *testing.T) {
	// A program whose libraries the tree lacks.
	sh, err := os.ReadFile("/bin/sh")
	if err != nil {
		t.Fatal(err)
	}
	tree := makeTree(t, map[string]string{"/bin/sh": string(sh)})
	if err := Pack(io.Discard, tree, Content{Programs: map[string]string{"/bin/sh": "/bin/sh"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without its loader: %v", err)
	}
	if err := Pack(io.Discard, tree, Content{Programs: map[string]string{"/bin/x": "/bin/x"}}); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without the program: %v", err)
	}
}
