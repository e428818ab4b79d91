package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/torture-harness/torture/harness/proc"
)

// member is one worker process as seen by its supervisor.
type member struct {
	name    string
	process *proc.Process
	in      *os.File      // to the child; its pipe holds what a stopped child does not read
	ready   chan struct{} // closed when the child has said so
	drained chan struct{} // closed when everything it said has been heard
	leaving bool          // its end is wanted: guarded by Fleet.mu
	log     string
	said    error // what it said before it gave up; valid once drained is closed
}

// launch starts a child. hear is called for each of its reports, from one
// goroutine. logs is the folder of its standard error.
func launch(exe, logs string, setup Setup, told func(pid int, start uint64) error, hear func(*member, Report)) (*member, error) {
	childIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer childIn.Close()
	out, childOut, err := os.Pipe()
	if err != nil {
		in.Close()
		return nil, err
	}
	defer childOut.Close()
	m := &member{name: setup.Worker, in: in, ready: make(chan struct{}), drained: make(chan struct{}),
		log: filepath.Join(logs, setup.Worker+".log")}
	errors_, err := os.Create(m.log)
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	defer errors_.Close()

	cmd := exec.Command(exe, "worker")
	cmd.Stdin, cmd.Stdout, cmd.Stderr = childIn, childOut, errors_
	if m.process, err = proc.Start(cmd); err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	go m.listen(out, hear)
	if err := told(m.process.Pid(), m.process.StartTime()); err != nil {
		m.abandon()
		return nil, err
	}
	if err := m.send(setup); err != nil {
		m.abandon()
		return nil, err
	}
	return m, nil
}

// abandon ends a child that nobody knows of yet.
func (m *member) abandon() {
	_ = m.process.Kill(context.Background())
	m.in.Close()
}

func (m *member) listen(out *os.File, hear func(*member, Report)) {
	defer close(m.drained)
	defer out.Close()
	lines := bufio.NewScanner(out)
	n := 1
	ready := sync.OnceFunc(func() { close(m.ready) })
	for ; lines.Scan(); n++ {
		r, err := parseReport(lines.Bytes())
		if err != nil {
			r = Report{Say: sayError, Error: fmt.Sprintf("line %d of its standard output is no report: %v", n, err)}
		}
		switch r.Say {
		case sayReady:
			ready()
		case sayError:
			m.said = errors.New(r.Error)
		}
		hear(m, r)
	}
	if err := lines.Err(); err != nil {
		m.said = fmt.Errorf("line %d of its standard output: %w", n, err)
		hear(m, Report{Say: sayError, Error: m.said.Error()})
	}
}

// sendPatience bounds a write to a child that does not read. Commands are a few
// hundred bytes and a pipe holds 64 KiB, also for one that is stopped.
const sendPatience = 10 * time.Second

func (m *member) send(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if err := m.in.SetWriteDeadline(time.Now().Add(sendPatience)); err != nil {
		return fmt.Errorf("worker %s: %w", m.name, err)
	}
	if _, err := m.in.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("tell worker %s: %w", m.name, err)
	}
	return nil
}

// awaitReady returns once the child is connected to all servers.
func (m *member) awaitReady(ctx context.Context) error {
	select {
	case <-m.ready:
		return nil
	case <-m.process.Done():
		return m.end()
	case <-ctx.Done():
		return fmt.Errorf("worker %s did not get ready: %w; see %s", m.name, ctx.Err(), m.log)
	}
}

// end says how a child ended, in its own words if it had any.
func (m *member) end() error {
	<-m.drained
	if m.said != nil {
		return fmt.Errorf("worker %s: %w", m.name, m.said)
	}
	if err := m.process.Err(); err != nil {
		return fmt.Errorf("worker %s ended: %w; see %s", m.name, err, m.log)
	}
	return fmt.Errorf("worker %s ended by itself; see %s", m.name, m.log)
}
