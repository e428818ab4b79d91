package main

import (
	"bytes"
	"fmt"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/report"
)

// claimsTable puts a run of claims into docs/claims.md. One that did not pass is
// no example of what the project shows.
func claimsTable(dir string) error {
	res, err := report.ReadClaims(dir)
	if err != nil {
		return err
	}
	if res.Status != checkers.Pass || res.SelfTest {
		return fmt.Errorf("%s is %s: only a run of claims that passed goes into docs/claims.md", dir, res.Status)
	}
	var b bytes.Buffer
	if err := report.ClaimsMarkdown(&b, res); err != nil {
		return err
	}
	fmt.Fprintf(&b, "\n%d claims in %.0f s, seed %d; redis %s, etcd %s, postgres %s (%s); %s", len(res.Claims), res.Seconds, res.Seed,
		res.Versions["redis"], res.Versions["etcd"], res.Versions["postgres"], res.Provider, res.Host)
	if err := replace("docs/claims.md", "claims", b.String()); err != nil {
		return err
	}
	return reproduced(stamp(res.Versions["torture"], res.Started), shownByClaims(res))
}
