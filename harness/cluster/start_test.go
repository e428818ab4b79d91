package cluster

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// afterMargin is how long a negative is waited for.
func afterMargin() <-chan time.Time { return time.After(300 * time.Millisecond) }

func TestTwoAtOnce(t *testing.T) {
	onProviders(t, func(t *testing.T, p Provider) {
		var cs [2]*Cluster
		var started sync.WaitGroup
		for i := range cs {
			spec := newSpec(t)
			spec.Redis, spec.Etcd = 1, 1
			started.Go(func() {
				c, err := p.Start(testContext(t), spec)
				if err != nil {
					t.Error(err)
					return
				}
				cs[i] = c
			})
		}
		started.Wait()
		if t.Failed() {
			return
		}
		for i, c := range cs {
			mustPut(t, c.Redis[0], "who", c.Redis[0].Password)
			mustPut(t, c.Etcd[0], "who", cs[i].Redis[0].Password)
		}
		for _, c := range cs {
			mustGet(t, c.Redis[0], "who", c.Redis[0].Password)
			mustGet(t, c.Etcd[0], "who", c.Redis[0].Password)
		}
		if err := cs[0].Close(testContext(t)); err != nil {
			t.Error(err)
		}
		mustPut(t, cs[1].Redis[0], "still", "here")
		mustPut(t, cs[1].Etcd[0], "still", "here")
		if err := cs[1].Close(testContext(t)); err != nil {
			t.Error(err)
		}
	})
}

// thief is a choice of ports, the first of which somebody else takes at once,
// the first n times.
func thief(t *testing.T, n int) ports {
	return func(want int) ([]*port, error) {
		ps, err := freePorts(want)
		if err != nil || n == 0 {
			return ps, err
		}
		n--
		release(ps[:1])
		l, err := net.Listen("tcp", ps[0].addr())
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { _ = l.Close() })
		return ps, nil
	}
}

func TestPortTaken(t *testing.T) {
	specs := map[string]func(*Spec){
		"redis":    func(s *Spec) { s.Redis = 1 },
		"etcd":     func(s *Spec) { s.Etcd = 1 },
		"postgres": func(s *Spec) { s.Postgres = true },
	}
	for name, ask := range specs {
		t.Run("process "+name, func(t *testing.T) {
			t.Parallel()
			spec := newSpec(t)
			ask(&spec)
			c := mustStart(t, &Processes{ports: thief(t, 1)}, spec)
			mustPut(t, c.Servers()[0], "k", "v")
		})
		t.Run("container "+name, func(t *testing.T) {
			needEngine(t)
			t.Parallel()
			spec := newSpec(t)
			ask(&spec)
			c := mustStart(t, &Containers{ports: thief(t, 1)}, spec)
			mustPut(t, c.Servers()[0], "k", "v")
		})
	}
	t.Run("always", func(t *testing.T) {
		t.Parallel()
		spec := newSpec(t)
		spec.Redis = 2
		_, err := (&Processes{ports: thief(t, tries)}).Start(testContext(t), spec)
		oneLine(t, err, "no free port in 3 tries", "redis-1", "Address already in use", "redis-1.log")
	})
}

func TestMissing(t *testing.T) {
	empty := t.TempDir()
	t.Setenv("PATH", empty)
	t.Setenv("XDG_CACHE_HOME", empty)
	before := postgresFolders
	postgresFolders = filepath.Join(empty, "*")
	t.Cleanup(func() { postgresFolders = before })
	for _, test := range []struct {
		what string
		ask  func(*Spec)
		get  string
	}{
		{"redis-server", func(s *Spec) { s.Redis = 1 }, "apt-get install redis-server"},
		{"etcd 3.6.9 or newer", func(s *Spec) { s.Etcd = 1 }, "make torture"},
		{"PostgreSQL's server (postgres and initdb)", func(s *Spec) { s.Postgres = true }, "apt-get install postgresql"},
	} {
		t.Run(test.what, func(t *testing.T) {
			spec := newSpec(t)
			test.ask(&spec)
			_, err := NewProcesses().Start(testContext(t), spec)
			oneLine(t, err, test.what+" ", "is missing", test.get)
			var missing *MissingError
			if !errors.As(err, &missing) {
				t.Errorf("%T is no *MissingError", err)
			}
		})
	}
}

func TestPostgresWithoutInitdb(t *testing.T) {
	// A postgres on the PATH without its initdb is not the server to take.
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "postgres"), nil, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir)
	postgres, initdb, err := findPostgres()
	if err == nil && (filepath.Dir(postgres) == dir || filepath.Dir(postgres) != filepath.Dir(initdb)) {
		t.Errorf("took %s and %s", postgres, initdb)
	}
}

// fakeRedis puts a redis-server on the PATH that is a shell script.
func fakeRedis(t *testing.T, script string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "fake-") // not t.TempDir, which only we can reach
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "redis-server"), []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
}

func TestEndsWhileStarting(t *testing.T) {
	fakeRedis(t, "echo one; echo it is broken; exit 3")
	spec := newSpec(t)
	spec.Redis, spec.Postgres = 1, true // the other one is not waited for
	began := time.Now()
	_, err := NewProcesses().Start(testContext(t), spec)
	oneLine(t, err, "redis-1 has ended: one | it is broken", "redis-1.log")
	if took := time.Since(began); took > readyWithin/2 {
		t.Errorf("it took %v to notice", took)
	}
}

func TestEndsByItself(t *testing.T) {
	onProviders(t, func(t *testing.T, p Provider) {
		spec := newSpec(t)
		spec.Redis = 1
		c := mustStart(t, p, spec)
		ctx := testContext(t)
		r := redisClient(c.Redis[0])
		defer r.Close()
		_ = r.ShutdownNoSave(ctx)
		select {
		case err := <-c.Failed():
			oneLine(t, err, "redis-1 has ended", "redis-1.log")
		case <-ctx.Done():
			t.Fatal("nobody noticed")
		}
		if err := c.Redis[0].Restart(ctx); err != nil {
			t.Fatal(err)
		}
		mustPut(t, c.Redis[0], "k", "v")
	})
}

func TestCancelledStart(t *testing.T) {
	fakeRedis(t, "exec sleep 1000") // never answers
	spec := newSpec(t)
	spec.Redis = 1
	ctx, cancel := contextUntil(t, func() bool {
		pids, _ := filepath.Glob(filepath.Join(os.TempDir(), "torture-"+spec.RunID+"-*", "redis-1", "redis.conf"))
		return len(pids) > 0
	})
	defer cancel()
	_, err := NewProcesses().Start(ctx, spec)
	if err == nil || !strings.Contains(err.Error(), "canceled") {
		t.Errorf("start: %v", err)
	} // the cleanup looks for what is left
}

func TestFullDisk(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root can make a small file system")
	}
	small, err := os.MkdirTemp("", "small-")
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", small, "tmpfs", 0, "size=2m,mode=1777"); err != nil {
		t.Skipf("cannot make a small file system: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(small, 0); err != nil {
			t.Error(err)
		}
		_ = os.Remove(small)
	})
	spec := newSpec(t)
	spec.Postgres = true
	t.Setenv("TMPDIR", small)
	_, err = NewProcesses().Start(testContext(t), spec)
	oneLine(t, err, "postgres", "initdb failed", "No space left on device", "postgres.log")
}

func TestUnreachableTemporaryFolder(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("servers run as ourselves")
	}
	private, err := os.MkdirTemp("", "private-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(private) })
	spec := newSpec(t)
	spec.Redis = 1
	t.Setenv("TMPDIR", private)
	_, err = NewProcesses().Start(testContext(t), spec)
	oneLine(t, err, private, "TMPDIR")
}

func TestPortsAreKept(t *testing.T) {
	ps, err := freePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	defer release(ps)
	if _, err := reserve(ps[0].number); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("a second one gets the port: %v", err)
	}
	// A server gets it, as often as it likes.
	for range 2 {
		l, err := net.Listen("tcp", ps[0].addr())
		if err != nil {
			t.Fatalf("the server does not get its port: %v", err)
		}
		if _, err := reserve(ps[0].number); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("a second one gets the port: %v", err)
		}
		_ = l.Close()
	}
	release(ps)
	again, err := reserve(ps[0].number)
	if err != nil {
		t.Fatalf("a port that was given back: %v", err)
	}
	release([]*port{again})
}
