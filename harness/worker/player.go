package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/workloads"
)

// Player is a worker whose clients do single steps, as they are told.
type Player struct {
	member *member

	mu      sync.Mutex
	last    int // id of the last step
	running map[int]*Running
	arrived map[string]string // client → the point at which it waits
	changed chan struct{}     // closed and replaced when somebody arrives
}

// Running is a step that was given to a client.
type Running struct {
	player *Player
	ended  chan struct{}
	report Report
}

// Launch starts a worker that plays the cast of its setup and returns once it
// is connected. told is called with the process before it does anything.
func Launch(ctx context.Context, setup Setup, logs string, told func(pid int, start uint64) error) (*Player, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find our own binary: %w", err)
	}
	p := &Player{running: map[int]*Running{}, arrived: map[string]string{}, changed: make(chan struct{})}
	if p.member, err = launch(exe, logs, setup, told, p.hear); err != nil {
		return nil, fmt.Errorf("start worker %s: %w", setup.Worker, err)
	}
	if err := p.member.awaitReady(ctx); err != nil {
		p.Destroy(context.WithoutCancel(ctx))
		return nil, err
	}
	return p, nil
}

func (p *Player) hear(_ *member, r Report) {
	p.mu.Lock()
	defer p.mu.Unlock()
	switch r.Say {
	case sayDone:
		if running := p.running[r.ID]; running != nil {
			running.report = r
			close(running.ended)
			delete(p.running, r.ID)
		}
	case sayArrived:
		p.arrived[r.Client] = r.Point
		close(p.changed)
		p.changed = make(chan struct{})
	}
}

// PID is the process.
func (p *Player) PID() int { return p.member.process.Pid() }

// Begin gives a client a step, which it does after those it has been given
// before. A worker that is stopped begins it when it goes on.
func (p *Player) Begin(client string, step workloads.Step) (*Running, error) {
	p.mu.Lock()
	p.last++
	id := p.last
	r := &Running{player: p, ended: make(chan struct{})}
	p.running[id] = r
	p.mu.Unlock()
	return r, p.member.send(Command{Do: doStep, Client: client, ID: id, Step: &step})
}

// Wait returns what came of the step, and the grant the client acts under then.
func (r *Running) Wait(ctx context.Context) (workloads.Done, workloads.Held, error) {
	select {
	case <-r.ended:
		if r.report.Error != "" {
			return workloads.Done{}, workloads.Held{}, errors.New(r.report.Error)
		}
		return *r.report.Done, *r.report.Held, nil
	case <-r.player.member.process.Done():
		return workloads.Done{}, workloads.Held{}, r.player.member.end()
	case <-ctx.Done():
		return workloads.Done{}, workloads.Held{}, ctx.Err()
	}
}

// Ended is closed when the step has ended.
func (r *Running) Ended() <-chan struct{} { return r.ended }

// GiveUp has a client give up the request in hand.
func (p *Player) GiveUp(client string) error {
	return p.member.send(Command{Do: doGiveUp, Client: client})
}

// Adopt has a client act under the grant of another.
func (p *Player) Adopt(client string, held workloads.Held) error {
	return p.member.send(Command{Do: doAdopt, Client: client, Held: &held})
}

// Recast has a new client take the place of one that has come to its end, and its
// connection. It has no past: no grant, and nothing read.
func (p *Player) Recast(client string, role Role) error {
	return p.member.send(Command{Do: doRecast, Client: client, Role: &role})
}

// Arm makes clients wait when they reach a point.
func (p *Player) Arm(point string) error {
	p.mu.Lock()
	clear(p.arrived)
	p.mu.Unlock()
	return p.member.send(Command{Do: doArm, Point: point})
}

// Go disarms all points and lets everybody go on.
func (p *Player) Go() error {
	return errors.Join(p.member.send(Command{Do: doDisarm}), p.member.send(Command{Do: doGo}))
}

// AwaitArrived returns once a client waits at a point.
func (p *Player) AwaitArrived(ctx context.Context, client, point string) error {
	for {
		p.mu.Lock()
		here, changed := p.arrived[client] == point, p.changed
		p.mu.Unlock()
		if here {
			return nil
		}
		select {
		case <-changed:
		case <-p.member.process.Done():
			return p.member.end()
		case <-ctx.Done():
			return fmt.Errorf("%s did not arrive at %s: %w", client, point, ctx.Err())
		}
	}
}

// Stop stops the worker and returns once it is proven, with the number of its
// threads and the moment.
func (p *Player) Stop(ctx context.Context) (threads int, at int64, err error) {
	threads, err = p.member.process.Stop(ctx)
	return threads, history.Now(), err
}

// Continue lets a stopped worker go on.
func (p *Player) Continue(ctx context.Context) error { return p.member.process.Continue(ctx) }

// Kill kills the worker (-9) and returns once it is gone and all it said is heard.
func (p *Player) Kill(ctx context.Context) error {
	if err := p.member.process.Kill(ctx); err != nil {
		return err
	}
	<-p.member.drained
	p.member.in.Close()
	return nil
}

// Finish ends the worker in good order.
func (p *Player) Finish(ctx context.Context) error {
	if err := p.member.send(Command{Do: doFinish}); err != nil {
		return err
	}
	select {
	case <-p.member.process.Done():
		p.member.in.Close()
		<-p.member.drained
		if p.member.process.Err() != nil || p.member.said != nil {
			return p.member.end()
		}
		return nil
	case <-ctx.Done():
		return fmt.Errorf("worker %s did not finish: %w", p.member.name, ctx.Err())
	}
}

// Destroy kills the worker, stopped or not, if it is still there.
func (p *Player) Destroy(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	_ = p.member.process.Kill(ctx)
	p.member.in.Close()
}
