package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"

	"github.com/torture-harness/torture/harness/cluster/command"
)

// Release is what packages are taken from. It is newer than what many machines
// run, which is why packages are unpacked beside the system and not installed.
const Release = "trixie"

// keyring holds the keys with which Debian signs its releases.
const keyring = "/usr/share/keyrings/debian-archive-keyring.gpg"

// ErrNotDebian says that this machine does not get its packages from Debian.
var ErrNotDebian = errors.New("this machine has no Debian package source")

// unneeded are packages that are only needed to install or administer. What is
// left out wrongly is noticed at once: Pack misses a library.
var unneeded = []string{
	"perl*", "libperl*", "lib*-perl", "libllvm*", "libz3-*", "libedit2", "libbsd0", "libmd0",
	"adduser", "passwd", "login*", "base-passwd", "debconf", "ucf", "sensible-utils", "procps", "libproc2-*",
	"init-system-helpers", "sysvinit-utils", "netbase", "openssl", "openssl-provider-legacy", "ssl-cert",
	"locales", "libc-l10n", "postgresql-common*", "postgresql-client-*", "libgdbm*", "libdb5*", "libsemanage*", "libsepol*",
	"libpam-modules*", "readline-common", "libreadline*",
}

// Available says whether Fetch can work here: the tools and the keys are there.
// It does not ask the network.
func Available() bool {
	for _, tool := range []string{"apt-get", "dpkg-deb"} {
		if _, err := exec.LookPath(tool); err != nil {
			return false
		}
	}
	_, err := os.Stat(keyring)
	return err == nil
}

// Fetch unpacks the named packages of Release, and what they depend on, below
// work, which must be an empty folder. It uses this machine's mirror and leaves
// the machine's own packages and lists alone.
func Fetch(ctx context.Context, work string, packages []string) (Tree, error) {
	if _, err := os.Stat(keyring); err != nil {
		return "", fmt.Errorf("%w: %s is missing", ErrNotDebian, keyring)
	}
	a := apt{work: work}
	if err := a.setUp(); err != nil {
		return "", fmt.Errorf("fetch packages: %w", err)
	}
	mirror, err := a.mirror(ctx)
	if err != nil {
		return "", err
	}
	source := fmt.Sprintf("deb [signed-by=%s] %s %s main\n", keyring, mirror, Release)
	if err := os.WriteFile(a.sources(), []byte(source), 0o644); err != nil {
		return "", fmt.Errorf("fetch packages: %w", err)
	}
	if _, err := a.run(ctx, "apt-get", a.options("update")...); err != nil {
		return "", err
	}
	names, err := a.closure(ctx, packages)
	if err != nil {
		return "", err
	}
	if _, err := a.run(ctx, "apt-get", a.options("download", names...)...); err != nil {
		return "", err
	}
	return a.unpack(ctx)
}

// apt is a package manager with folders of its own.
type apt struct{ work string }

// mirror asks the machine's own apt where it gets Debian from.
func (a apt) mirror(ctx context.Context) (string, error) {
	out, err := a.run(ctx, "apt-get", "indextargets", "--format", "$(ORIGIN)|$(LABEL)|$(COMPONENT)|$(REPO_URI)", "Created-By: Packages")
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrNotDebian, err)
	}
	for line := range strings.Lines(out) {
		f := strings.Split(strings.TrimSpace(line), "|")
		if len(f) != 4 || f[2] != "main" {
			continue
		}
		debian := f[0] == "Debian" && f[1] == "Debian"
		// Before the first update the lists do not say whose they are.
		unknown := f[0] == "" && strings.HasSuffix(strings.TrimSuffix(f[3], "/"), "/debian")
		if debian || unknown {
			return f[3], nil
		}
	}
	return "", ErrNotDebian
}

func (a apt) sources() string { return filepath.Join(a.work, "sources.list") }

func (a apt) setUp() error {
	for _, dir := range []string{"lists/partial", "cache/archives/partial", "debs", "tree"} {
		if err := os.MkdirAll(filepath.Join(a.work, dir), 0o755); err != nil {
			return err
		}
	}
	return os.WriteFile(filepath.Join(a.work, "status"), nil, 0o644) // nothing is installed
}

// options are those that keep apt-get inside work.
func (a apt) options(command string, args ...string) []string {
	var all []string
	for _, option := range []string{
		"Dir::Etc::SourceList=" + a.sources(),
		"Dir::Etc::SourceParts=/dev/null",
		"Dir::Etc::Preferences=/dev/null",
		"Dir::Etc::PreferencesParts=/dev/null",
		"Dir::State=" + a.work,
		"Dir::State::Lists=" + filepath.Join(a.work, "lists"),
		"Dir::State::Status=" + filepath.Join(a.work, "status"),
		"Dir::Cache=" + filepath.Join(a.work, "cache"),
		"Acquire::Languages=none",
		"Acquire::IndexTargets::deb::DEP-11::DefaultEnabled=false",
		"Acquire::Retries=2",
		"APT::Sandbox::User=root", // else root's downloads run as a user that cannot write here
		"APT::Install-Recommends=false",
	} {
		all = append(all, "-o", option)
	}
	return append(append(all, command), args...)
}

// closure lists packages and what they depend on, without the unneeded ones.
func (a apt) closure(ctx context.Context, packages []string) ([]string, error) {
	out, err := a.run(ctx, "apt-get", a.options("install", append([]string{"--simulate"}, packages...)...)...)
	if err != nil {
		return nil, err
	}
	var names []string
	for line := range strings.Lines(out) { // Inst libc6 (2.41-12 Debian:13/stable [amd64])
		f := strings.Fields(line)
		if len(f) > 1 && f[0] == "Inst" && !skipped(f[1], unneeded) {
			names = append(names, f[1])
		}
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("fetch packages: apt-get names none for %v", packages)
	}
	return names, nil
}

func (a apt) unpack(ctx context.Context) (Tree, error) {
	debs, err := filepath.Glob(filepath.Join(a.work, "debs", "*.deb"))
	if err != nil || len(debs) == 0 {
		return "", errors.Join(errors.New("fetch packages: none was downloaded"), err)
	}
	tree := filepath.Join(a.work, "tree")
	for _, deb := range debs {
		if _, err := a.run(ctx, "dpkg-deb", "--extract", deb, tree); err != nil {
			return "", err
		}
	}
	// Paths as they were before everything moved below /usr; programs still
	// ask for their loader by one.
	for _, name := range []string{"bin", "lib", "lib64"} {
		err := os.Symlink(path.Join("usr", name), filepath.Join(tree, name))
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return "", err
		}
	}
	real, err := filepath.EvalSymlinks(tree)
	return Tree(real), err
}

// run runs a command in the folder of downloads and returns what it printed.
func (a apt) run(ctx context.Context, name string, args ...string) (string, error) {
	path, err := exec.LookPath(name)
	if err != nil {
		return "", err
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = filepath.Join(a.work, "debs")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	return command.Run(ctx, cmd)
}
