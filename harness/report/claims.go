package report

import (
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/result"
)

//go:embed claims.html
var claimsText string

var claimsTemplate = template.Must(template.New("claims").Funcs(template.FuncMap{
	"count":  count,
	"date":   date,
	"plural": plural,
	"tone":   claimTone,
	"layer":  layer,
}).Parse(claimsText))

// claimsPage is what the template is given.
type claimsPage struct {
	result.Claims
	Style   template.CSS
	Counts  []claimCount
	Servers []pair
	Digests []pair
	Replay  string
}

type claimCount struct {
	Verdict result.ClaimVerdict
	N       int
}

// IsClaims reports whether a folder holds a run of claims.
func IsClaims(dir string) bool { return schemaOf(dir) == result.ClaimsSchema }

// ReadClaims reads the result of a run of claims.
func ReadClaims(dir string) (result.Claims, error) {
	var res result.Claims
	path := filepath.Join(dir, "result.json")
	data, err := history.ReadSaved(path)
	if err != nil {
		return res, err
	}
	if err := json.Unmarshal(data, &res); err != nil {
		return res, fmt.Errorf("%s: no result: %w", path, err)
	}
	if res.Schema != result.ClaimsSchema {
		return res, fmt.Errorf("%s: schema %q; this version reads %q", path, res.Schema, result.ClaimsSchema)
	}
	return res, nil
}

// writeClaims writes the report of a run of claims.
func writeClaims(dir string) error {
	res, err := ReadClaims(dir)
	if err != nil {
		return err
	}
	var errs []error
	for name, render := range map[string]func(io.Writer, result.Claims) error{
		"report.html": renderClaims, "summary.md": ClaimsMarkdown, "junit.xml": claimsJUnit,
	} {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			errs = append(errs, err)
			continue
		}
		errs = append(errs, render(f, res), f.Close())
	}
	return errors.Join(errs...)
}

func renderClaims(w io.Writer, res result.Claims) error {
	p := claimsPage{Claims: res, Style: template.CSS(pageStyle), Servers: sorted(res.Versions), Digests: sorted(res.Images), Replay: pasted(res.Command)}
	for _, v := range []result.ClaimVerdict{result.AsClaimed, result.NotAsClaimed, result.InconclusiveClaim, result.BrokenClaim} {
		n := 0
		for _, c := range res.Claims {
			if c.Verdict == v {
				n++
			}
		}
		if n > 0 {
			p.Counts = append(p.Counts, claimCount{v, n})
		}
	}
	return claimsTemplate.Execute(w, p)
}

// claimTone is the colour of a verdict. In a self-test a row that turned is good.
func claimTone(v result.ClaimVerdict, selfTest bool) string {
	wanted := result.AsClaimed
	if selfTest {
		wanted = result.NotAsClaimed
	}
	switch v {
	case wanted:
		return "good"
	case result.InconclusiveClaim:
		return "unsure"
	default:
		return "bad"
	}
}

// layer says in words what became of one layer of a case.
func layer(c result.ClaimCase, which string) string {
	if which == "lock" {
		switch c.Verdicts[checkers.LeaseExclusion] {
		case checkers.Violated:
			return "granted to two at once"
		case checkers.NotApplicable:
			return "no lock"
		case checkers.Undecided, "":
			return "not decided"
		}
		return "leases never overlapped"
	}
	switch {
	case c.Verdicts[checkers.StaleOverwrite] == checkers.Violated:
		return "stale write"
	case c.Verdicts[checkers.RMWAtomic] == checkers.Violated:
		return "update lost"
	case c.Verdicts[checkers.FenceOrder] == checkers.Violated:
		return "old holder wrote last, on the newest data"
	case c.Verdicts[checkers.StaleOverwrite] == checkers.Undecided, c.Verdicts[checkers.StaleOverwrite] == "":
		return "not decided"
	}
	return "no stale write"
}

// ClaimsMarkdown is the table of all claims, for a job's summary and for docs.
func ClaimsMarkdown(w io.Writer, res result.Claims) error {
	var b strings.Builder
	fmt.Fprintf(&b, "| claim | | case | lock layer | resource layer | expected | verdict |\n|---|---|---|---|---|---|---|\n")
	for _, c := range res.Claims {
		for i, one := range c.Cases {
			id, says := "", ""
			if i == 0 {
				id, says = "**"+c.ID+"**", c.Says
				if c.Broken != "" {
					says += " *Changed: " + c.Broken + "*"
				}
			}
			about := one.About
			if one.Name != "" {
				about = "(" + one.Name + ") " + about
			}
			fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s | %s |\n", id, cellText(says), cellText(about), layer(one, "lock"), layer(one, "data"), cellText(one.Expected), one.Verdict)
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// cellText is text that cannot leave its cell of a Markdown table.
func cellText(s string) string {
	return strings.NewReplacer("|", "\\|", "\n", " ", "<", "&lt;", ">", "&gt;").Replace(s)
}
