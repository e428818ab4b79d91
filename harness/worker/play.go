package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/torture-harness/torture/workloads"
)

// part is a client that is played: it does its steps one after the other.
type part struct {
	client *workloads.Client
	steps  chan Command

	mu   sync.Mutex
	drop context.CancelFunc // gives up the step in hand
}

// play has the clients do what the supervisor says until it says finish.
func (c *child) play(lines *bufio.Scanner, clients []*workloads.Client) error {
	parts := map[string]*part{}
	var playing sync.WaitGroup
	for i, client := range clients {
		p := &part{client: client, steps: make(chan Command, 64)}
		parts[c.setup.Cast[i].Name] = p
		playing.Go(func() { p.run(c) })
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
	line := 1
	for lines.Scan() {
		line++
		var cmd Command
		if err := json.Unmarshal(lines.Bytes(), &cmd); err != nil {
			return fmt.Errorf("line %d of standard input: %w", line, err)
		}
		switch cmd.Do {
		case doArm:
			c.points.Arm(cmd.Point, cmd.Resources)
		case doDisarm:
			c.points.Disarm()
		case doGo:
			c.points.Go(cmd.Resources)
		case doFinish:
			end()
			return nil
		case doStep, doGiveUp, doAdopt:
			p := parts[cmd.Client]
			if p == nil {
				return fmt.Errorf("line %d of standard input: nobody plays %q", line, cmd.Client)
			}
			if cmd.Do == doGiveUp {
				p.giveUp()
				continue
			}
			p.steps <- cmd
		default:
			return fmt.Errorf("line %d of standard input: unknown command %q", line, cmd.Do)
		}
	}
	return errors.New("the supervisor is gone")
}

func (p *part) giveUp() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.drop != nil {
		p.drop()
	}
}

// run does the steps in their order. What has no sense is told and skipped.
func (p *part) run(c *child) {
	defer p.client.Store.Close()
	for cmd := range p.steps {
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
