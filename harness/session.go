package harness

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime"
	"time"

	"github.com/torture-harness/torture/harness/cluster"
	"github.com/torture-harness/torture/harness/guardian"
)

// Setting is what a run needs around it.
type Setting struct {
	RunID    string
	Provider string       // auto, container, process
	Spec     cluster.Spec // the servers; where and under whom they run is filled in
	Say      func(format string, args ...any)
}

// Session is a run's surroundings while they last.
type Session struct {
	Guardian *guardian.Guardian
	Provider cluster.Provider
	Cluster  *cluster.Cluster
	Versions map[string]string // of servers, Go and torture
}

// ErrInterrupted is the end of a run that somebody did not want to go on. What
// was recorded until then has been judged.
var ErrInterrupted = errors.New("interrupted")

// Interrupted says why a run was ended: ErrInterrupted, or what broke; nil if it
// was not.
func Interrupted(ctx context.Context) error {
	if ctx.Err() == nil {
		return nil
	}
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return cause
	}
	return ErrInterrupted
}

// With opens a guardian, starts the servers and calls work. Its context ends
// when a server does. Everything is taken down when it returns.
func (s Setting) With(ctx context.Context, work func(context.Context, *Session) error) (err error) {
	session := &Session{Versions: map[string]string{"go": runtime.Version(), "torture": Version()}}
	if session.Guardian, err = guardian.Open(s.RunID); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, session.Guardian.Close()) }()
	ctx, abort := session.Guardian.While(ctx)
	defer abort(nil)
	var why string
	if session.Provider, why, err = cluster.Select(ctx, s.Provider); err != nil {
		return err
	}
	s.Say("%s", why)
	began := time.Now()
	spec := s.Spec
	spec.RunID, spec.Guardian = s.RunID, session.Guardian
	if session.Cluster, err = session.Provider.Start(ctx, spec); err != nil {
		if broke := Interrupted(ctx); errors.Is(broke, ErrInterrupted) {
			return fmt.Errorf("%w while the servers were starting", broke)
		}
		return fmt.Errorf("start the servers: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		err = errors.Join(err, session.Cluster.Close(closing))
	}()
	maps.Copy(session.Versions, session.Cluster.Versions)
	for _, note := range session.Cluster.Notes {
		s.Say("%s", note)
	}
	s.Say("servers ready after %.1f s: %s", time.Since(began).Seconds(), describe(session.Cluster))
	go func() {
		select {
		case err := <-session.Cluster.Failed():
			abort(err)
		case <-ctx.Done():
		}
	}()
	return work(ctx, session)
}
