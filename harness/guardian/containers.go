package guardian

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/client"
)

// Each label belongs to one run, so whatever carries it is that run's.

func engine(host string) (*client.Client, error) {
	opts := []client.Opt{client.FromEnv}
	if host != "" {
		opts = append(opts, client.WithHost(host))
	}
	return client.New(opts...)
}

// labelled lists the containers that carry all the labels.
func labelled(ctx context.Context, c *client.Client, labels ...string) ([]container.Summary, error) {
	list, err := c.ContainerList(ctx, client.ContainerListOptions{All: true, Filters: make(client.Filters).Add("label", labels...)})
	if err != nil {
		return nil, fmt.Errorf("list the containers labelled %s: %w", strings.Join(labels, ", "), err)
	}
	return list.Items, nil
}

// continueContainers lets go on what is paused or stopped.
func continueContainers(ctx context.Context, labels map[string]string) error {
	var errs []error
	for label, host := range labels {
		errs = append(errs, func() error {
			c, err := engine(host)
			if err != nil {
				return err
			}
			defer c.Close()
			found, err := labelled(ctx, c, label)
			for _, one := range found {
				switch one.State {
				case container.StatePaused:
					_, _ = c.ContainerUnpause(ctx, one.ID, client.ContainerUnpauseOptions{})
				case container.StateRunning:
					_, _ = c.ContainerKill(ctx, one.ID, client.ContainerKillOptions{Signal: "CONT"})
				}
			}
			return err
		}())
	}
	return errors.Join(errs...)
}

// removeContainers removes all containers, their volumes, and networks with the
// labels. A create request that was under way when the run died may be carried
// out a little later, so it looks again until there was nothing for a while.
func removeContainers(ctx context.Context, labels map[string]string, before error, log io.Writer) (left []string, err error) {
	if before != nil {
		return nil, before // the engine does not answer
	}
	for label, host := range labels {
		c, err := engine(host)
		if err != nil {
			return left, err
		}
		removed, err := removeUntilNone(ctx, c, label, log)
		_ = c.Close()
		left = append(left, removed...)
		if err != nil {
			return left, err
		}
	}
	return left, nil
}

func removeUntilNone(ctx context.Context, c *client.Client, label string, log io.Writer) (left []string, err error) {
	const quiet = 1500 * time.Millisecond
	const every = 300 * time.Millisecond
	for none := time.Duration(0); none < quiet; none += every {
		found, err := labelled(ctx, c, label)
		if err != nil {
			return left, err
		}
		for _, one := range found {
			none = 0
			_, err := c.ContainerRemove(ctx, one.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true})
			say(log, "removed container %s: %v", one.ID, err)
			left = append(left, fmt.Sprintf("container %.12s", one.ID))
		}
		select {
		case <-ctx.Done():
			return left, fmt.Errorf("remove the containers labelled %s: %w", label, ctx.Err())
		case <-time.After(every):
		}
	}
	return left, removeNetworks(ctx, c, label)
}

func removeNetworks(ctx context.Context, c *client.Client, label string) error {
	list, err := c.NetworkList(ctx, client.NetworkListOptions{Filters: make(client.Filters).Add("label", label)})
	if err != nil {
		return fmt.Errorf("list the networks labelled %s: %w", label, err)
	}
	var errs []error
	for _, one := range list.Items {
		_, err := c.NetworkRemove(ctx, one.ID, client.NetworkRemoveOptions{})
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// RemoveContainers removes those containers of the run that also carry the
// given labels (key=value), for one caller of Containers. With the last one the
// run's label is taken out of the ledger.
func (g *Guardian) RemoveContainers(ctx context.Context, labels ...string) error {
	g.mu.Lock()
	host, told := g.held.Containers[g.Label()]
	g.mu.Unlock()
	if !told {
		return nil
	}
	c, err := engine(host)
	if err != nil {
		return err
	}
	defer c.Close()
	found, err := labelled(ctx, c, append([]string{g.Label()}, labels...)...)
	if err != nil {
		return err
	}
	for _, one := range found {
		if _, err := c.ContainerRemove(ctx, one.ID, client.ContainerRemoveOptions{Force: true, RemoveVolumes: true}); err != nil {
			return fmt.Errorf("remove container %.12s: %w", one.ID, err)
		}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.makers--; g.makers > 0 {
		return nil
	}
	return g.writeLocked(entry{Kind: kindNoContainers, Label: g.Label()})
}
