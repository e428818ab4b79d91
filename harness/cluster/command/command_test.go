package command

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

func TestRun(t *testing.T) {
	out, err := Run(t.Context(), exec.Command("sh", "-c", "echo one; echo two >&2"))
	if err != nil || out != "one\ntwo" {
		t.Errorf("%q, %v", out, err)
	}
}

func TestRunFails(t *testing.T) {
	out, err := Run(t.Context(), exec.Command("sh", "-c", "echo one; echo it is broken; exit 3"))
	if err == nil || err.Error() != "sh failed (exit status 3): it is broken" || out != "one\nit is broken" {
		t.Errorf("%q, %v", out, err)
	}
	if _, err := Run(t.Context(), exec.Command("/nowhere/at-all")); err == nil || !strings.Contains(err.Error(), "/nowhere/at-all") {
		t.Errorf("%v", err)
	}
}

func TestRunIsCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	began := time.Now()
	if _, err := Run(ctx, exec.Command("sleep", "1000")); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if took := time.Since(began); took > 100*time.Second {
		t.Errorf("it took %v", took)
	}
}
