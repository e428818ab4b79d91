package main

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/torture-harness/torture/checkers"
)

// The same short comparison in containers and with local processes, whichever
// the other tests use.
func TestSmokeOnBothProviders(t *testing.T) {
	for _, provider := range []string{"process", "container"} {
		t.Run(provider, func(t *testing.T) {
			if provider == "container" && exec.Command("docker", "info").Run() != nil {
				t.Skip("no container engine answers: containers were not tried")
			}
			dir := t.TempDir()
			o := invocation{args: []string{"compare", "--provider", provider, "--strategy", "redlock,etcd-fenced", "--fault", "pause-holder",
				"--duration", "1s", "--exposures", "2", "--results", dir}}.run(t)
			latest, err := filepath.EvalSymlinks(filepath.Join(dir, "latest"))
			if err != nil {
				t.Fatalf("no results: %v\n%s%s", err, o.out, o.errors)
			}
			res := load(t, latest)
			if !onlyBusy(res) || res.Provider != provider {
				t.Fatalf("exit code %d, provider %q\n%s%s", o.code, res.Provider, o.out, o.errors)
			}
			for _, c := range res.Cells {
				want := checkers.Holds
				if c.Strategy == "redlock" {
					want = checkers.Violated
				}
				if got := c.Properties[checkers.StaleOverwrite].Verdict; got != want {
					t.Errorf("%s: stale-overwrite %s, want %s", c.Strategy, got, want)
				}
				if got := c.Properties[checkers.LeaseExclusion].Verdict; got != checkers.Holds {
					t.Errorf("%s: lease-exclusion %s", c.Strategy, got)
				}
			}
			for _, name := range []string{"redis", "etcd", "postgres"} {
				if res.Versions[name] == "" {
					t.Errorf("no version of %s in result.json", name)
				}
			}
		})
	}
}
