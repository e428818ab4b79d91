package worker

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/torture-harness/torture/workloads"
	"github.com/torture-harness/torture/workloads/lock"
)

// part is a client that is played: it does its steps one after the other.
type part struct {
	client *workloads.Client
	steps  chan Command

	mu   sync.Mutex
	drop context.CancelFunc // gives up the step in hand
}

// play has the clients do what the supervisor says until it says finish.
func (c *child) play(lines *bufio.Scanner, clients []*workloads.Client, locker lock.Locker) error {
	parts := map[string]*part{}
	var playing sync.WaitGroup
	for i, client := range clients {
		p := &part{client: client, steps: make(chan Command, 64)}
		parts[c.setup.Cast[i].Name] = p
		playing.Go(func() { p.run(c, locker) })
	}
	end := sync.OnceFunc(func() {
		c.points.Abandon()
		for _, p := range parts {
			p.giveUp()
			close(p.steps)
		}
		playing.Wait()
	})
	defer end()
	return obey(lines, func(cmd Command) error {
		switch cmd.Do {
		case doStep, doGiveUp, doAdopt, doRecast:
		default:
			return c.point(cmd)
		}
		p := parts[cmd.Client]
		switch {
		case p == nil:
			return fmt.Errorf("nobody plays %q", cmd.Client)
		case cmd.Do == doGiveUp:
			p.giveUp()
		case cmd.Do == doRecast && (parts[cmd.Role.Name] != nil || !slices.Contains(c.setup.Resources, cmd.Role.Resource)):
			return fmt.Errorf("nobody can play %+v", cmd.Role)
		default:
			if cmd.Do == doRecast {
				delete(parts, cmd.Client)
				parts[cmd.Role.Name] = p
			}
			p.steps <- cmd
		}
		return nil
	})
}

func (p *part) giveUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drop != nil {
		p.drop()
	}
}

// run does the steps in their order. What has no sense is told and skipped.
func (p *part) run(c *child, locker lock.Locker) {
	defer p.client.Store.Close()
	for cmd := range p.steps {
		if cmd.Do == doRecast {
			connection := p.client.Store
			p.client = c.client(locker, cmd.Role.Resource, cmd.Role.Name)
			p.client.Store = connection
			continue
		}
		if cmd.Do == doAdopt {
			p.client.Adopt(*cmd.Held)
			continue
		}
		ctx, cancel := context.WithCancel(context.Background())
		p.mu.Lock()
		p.drop = cancel
		p.mu.Unlock()
		done, err := p.client.Play(ctx, *cmd.Step)
		cancel()
		held := p.client.Held()
		report := Report{Say: sayDone, ID: cmd.ID, Client: cmd.Client, Done: &done, Held: &held}
		if err != nil {
			report.Error = err.Error()
		}
		c.say(report)
	}
}
