package claims

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness"
	"github.com/torture-harness/torture/harness/report"
)

// Check judges the histories of a saved run of claims again. What the scripts
// saw at the servers (outcomes, proofs) is taken from its result.json. It needs
// no servers and changes no file. A file that cannot be read is a Usage.
func Check(ctx context.Context, dir string) (Result, error) {
	res, err := report.ReadClaims(dir)
	if err != nil {
		return res, harness.Usage{Err: err}
	}
	for i := range res.Claims {
		row := &res.Claims[i]
		verdict := OK
		for k := range row.Cases {
			c := &row.Cases[k]
			if c.Verdict != Broken && len(c.Found) > 0 {
				if err := again(ctx, dir, c); err != nil {
					return res, harness.Usage{Err: err}
				}
			}
			verdict = worst(verdict, c.Verdict)
		}
		row.Verdict = verdict
	}
	res.Status = overall(res)
	if len(res.Errors) > 0 { // a run that broke does not get better by judging again
		res.Status = checkers.Combine(res.Status, checkers.Errored)
	}
	res.ExitCode = checkers.ExitCode(res.Status)
	return res, nil
}

// again judges one case.
func again(ctx context.Context, dir string, c *CaseRow) error {
	folder := filepath.Join(dir, c.Dir)
	if !filepath.IsLocal(c.Dir) {
		return fmt.Errorf("%s: the case (%s) is not in the folder of the run", filepath.Join(dir, "result.json"), c.Dir)
	}
	j, h, err := judgeCase(ctx, folder, c.Expected)
	if err != nil {
		return err
	}
	wishes, err := parse(c.Expected)
	if err != nil {
		return fmt.Errorf("%s: %w", filepath.Join(dir, "result.json"), err)
	}
	facts := map[string]string{}
	for _, f := range c.Found {
		if f.Got != "not seen" {
			facts[f.What] = f.Got
		}
	}
	stopped := ""
	if c.Verdict == Inconclusive && len(c.Reasons) > 0 {
		stopped = c.Reasons[len(c.Reasons)-1]
	}
	c.Reasons = nil
	c.Found = compare(wishes, j, facts)
	c.Evidence = evidence(h, j)
	for p, f := range j.Findings {
		c.Verdicts[p] = f.Verdict
	}
	weigh(c, stopped, nil)
	return nil
}
