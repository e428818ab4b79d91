package cluster

import (
	"testing"
	"time"
)

func TestStart(t *testing.T) {
	ctx := testContext(t)
	spec := newSpec(t)
	spec.Redis, spec.Etcd, spec.Postgres, spec.MaxConnections = 5, 3, true, 100
	began := time.Now()
	c, err := NewProcesses().Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	t.Log(time.Since(began), c.Versions, c.Notes)
	for _, s := range c.Servers() {
		b := time.Now()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
		stop := time.Since(b)
		b = time.Now()
		if err := s.Continue(ctx); err != nil {
			t.Error(err)
		}
		cont := time.Since(b)
		b = time.Now()
		if err := s.Restart(ctx); err != nil {
			t.Error(err)
		}
		t.Log(s.Name, stop, cont, time.Since(b))
	}
	began = time.Now()
	if err := c.Close(ctx); err != nil {
		t.Error(err)
	}
	t.Log(time.Since(began))
}
