package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/torture-harness/torture/harness/guardian"
	"github.com/torture-harness/torture/harness/proc"
)

// Processes is the provider that runs servers as child processes, with
// everything of theirs in a temporary folder. Root runs them as another user.
type Processes struct {
	ports ports
}

// NewProcesses returns the provider of local processes.
func NewProcesses() *Processes { return &Processes{ports: freePorts} }

// Name implements Provider.
func (*Processes) Name() string { return "process" }

// Start implements Provider.
func (p *Processes) Start(ctx context.Context, spec Spec) (*Cluster, error) {
	programs, err := findPrograms(ctx, spec)
	if err != nil {
		return nil, err
	}
	lib, err := spec.clockLibrary(ctx)
	if err != nil {
		return nil, err
	}
	return start(ctx, spec, p.ports, func(ctx context.Context) (host, []string, error) {
		return newProcessHost(ctx, spec, programs, lib)
	})
}

// processHost is the folder of one set of servers.
type processHost struct {
	guardian *guardian.Guardian
	dirs     map[Kind]string   // where servers of a kind have their folders
	programs map[string]string // name → path to call it by; its name may decide what it does
	binaries []string          // the files behind them, without symbolic links
	account  *syscall.Credential
	bodies   chan *processBody
	disk     string
	clockLib string // path of the preloaded clock; "" without
}

func newProcessHost(ctx context.Context, spec Spec, programs map[string]string, clockLib string) (host, []string, error) {
	account, err := serverAccount()
	if err != nil {
		return nil, nil, err
	}
	if account != nil && !passable(os.TempDir()) {
		return nil, nil, errPrivateTemp()
	}
	disk, err := spec.Guardian.TempDir(os.TempDir())
	if err != nil {
		return nil, nil, err
	}
	h := &processHost{
		guardian: spec.Guardian,
		dirs:     map[Kind]string{Redis: disk, Etcd: disk, Postgres: disk},
		programs: map[string]string{},
		account:  account,
		bodies:   make(chan *processBody, portsOf(spec)),
		disk:     disk,
		clockLib: clockLib,
	}
	var notes []string
	if spec.Etcd > 0 && hasRoom(memoryFolder, etcdRoom) {
		if h.dirs[Etcd], err = spec.Guardian.TempDir(memoryFolder); err == nil {
			notes = append(notes, "etcd keeps its data in memory ("+memoryFolder+"): its fsync costs nothing")
		}
	}
	if err == nil {
		err = h.usePrograms(disk, programs)
	}
	if err != nil {
		return nil, nil, errors.Join(err, h.close(context.WithoutCancel(ctx)))
	}
	return h, notes, nil
}

// usePrograms tells the guardian of the programs. Those that only we can reach,
// because they are in our home, say, are copied to where the servers' account
// can run them.
func (h *processHost) usePrograms(disk string, programs map[string]string) error {
	for name, path := range programs {
		binary, err := filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("use %s: %w", name, err)
		}
		if h.account != nil && !openToAll(binary) {
			if path, err = copyProgram(binary, filepath.Join(disk, name)); err != nil {
				return err
			}
			binary = path
		}
		if err := h.guardian.Program(binary); err != nil {
			return err
		}
		h.programs[name] = path
		h.binaries = append(h.binaries, binary)
	}
	return nil
}

// body makes the folder of a server and prepares it.
func (h *processHost) body(ctx context.Context, m *member) (body, error) {
	dir := filepath.Join(h.dirs[m.server.Kind], m.server.Name)
	b := &processBody{name: m.server.Name, host: h, dir: dir, log: m.server.Log, launch: m.launch(dir)}
	if m.clock {
		var err error
		if m.server.clock, err = newClock(h.disk, m.server.Name, h.clockLib); err != nil {
			return nil, err
		}
		b.env = m.server.clock.env(m.server.clock.dir)
	}
	h.bodies <- b
	return b, b.fill(ctx)
}

// write puts the files of a launch into a folder, for the servers' account.
func (h *processHost) write(dir string, files map[string]string) error {
	for name, content := range files {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			return err
		}
		if err := h.give(path); err != nil {
			return err
		}
	}
	return nil
}

func (h *processHost) give(path string) error {
	if h.account == nil {
		return nil
	}
	return os.Chown(path, int(h.account.Uid), int(h.account.Gid))
}

// command is a launch as a command of the servers' account, whose output goes
// to the log.
func (h *processHost) command(l launch, dir string, env []string, log *os.File) *exec.Cmd {
	cmd := exec.Command(h.programs[l.program], l.args...)
	cmd.Dir = dir // by which the guardian recognizes it
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "HOME=" + dir, "LC_ALL=C", "TZ=UTC"}, env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: h.account}
	return cmd
}

func (h *processHost) start(l launch, dir string, env []string, name, logPath string) (*proc.Process, error) {
	if h.programs[l.program] == "" {
		return nil, &MissingError{What: l.program, Get: "put it on the PATH"}
	}
	log, err := appendLog(logPath)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	start := proc.Start
	if l.shares && !strings.HasPrefix(dir, memoryFolder+"/") {
		start = proc.StartOwnMemory
	}
	p, err := start(h.command(l, dir, env, log))
	if err != nil {
		return nil, err
	}
	if err := h.guardian.Process(p.Pid(), p.StartTime(), name); err != nil {
		return nil, errors.Join(err, p.Kill(context.Background()))
	}
	return p, nil
}

// close kills all servers and removes the folders.
func (h *processHost) close(ctx context.Context) error {
	close(h.bodies)
	var errs []error
	for b := range h.bodies {
		errs = append(errs, b.kill(ctx))
	}
	removed := map[string]bool{}
	for _, dir := range h.dirs {
		if dir != "" && !removed[dir] {
			removed[dir] = true
			errs = append(errs, h.guardian.RemoveDirectory(ctx, dir))
		}
	}
	return errors.Join(errs...)
}
