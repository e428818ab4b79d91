// Command generate puts a real run into the README: its table, and the picture
// of its first anomaly as the report draws it.
//
//	go run ./docs/generate RUN
//
// An exploration gives the picture of its gaps. A run of claims goes into
// docs/claims.md instead. Both say in
// docs/track-record.md which of its rows they have reproduced, and a run of the
// command of its first row goes there alone.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/harness/report"
	"github.com/torture-harness/torture/harness/result"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("want one run folder")
	}
	dir, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	if report.IsClaims(dir) {
		return claimsTable(dir)
	}
	if report.IsExplore(dir) {
		return picture(filepath.Join(dir, "report.html"), "#gaps", "docs/explore.png")
	}
	res, err := passed(dir)
	if err != nil {
		return err
	}
	shows := shownByCompare(res)
	if err := reproduced(stamp(res.Versions["torture"], res.Started), shows); err != nil {
		return err
	}
	if shows(strings.Fields(etcd11457)) {
		return jepsensFigure(res)
	}
	table, err := tableOf(res)
	if err != nil {
		return err
	}
	if err := replace("README.md", "table", "```\n"+table+"```"); err != nil {
		return err
	}
	return picture(filepath.Join(dir, "report.html"), "#stories article", "docs/story.png")
}

// passed reads the result of a run. One that did not pass is no example of what
// the project shows.
func passed(dir string) (result.Result, error) {
	var res result.Result
	data, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		return res, err
	}
	if err := json.Unmarshal(data, &res); err != nil {
		return res, fmt.Errorf("%s is not a result: %w", filepath.Join(dir, "result.json"), err)
	}
	if res.Status != checkers.Pass {
		return res, fmt.Errorf("%s is %s: only a run that passed goes into the README", dir, res.Status)
	}
	return res, nil
}

// tableOf is what the terminal shows of a run.
func tableOf(res result.Result) (string, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "$ ./bin/%s\n", res.Command)
	if err := report.Table(&b, res, 100, false); err != nil {
		return "", err
	}
	fmt.Fprintf(&b, "\n%s in %.0f s, seed %d; redis %s, etcd %s, postgres %s; %s\n", res.Status, res.Seconds, res.Seed,
		res.Versions["redis"], res.Versions["etcd"], res.Versions["postgres"], res.Host)
	return b.String(), nil
}

// replace puts text between the markers of a block.
func replace(path, block, text string) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(data), "<!-- begin: "+block+" -->\n")
	_, after, ok2 := strings.Cut(rest, "<!-- end: "+block+" -->")
	if !ok || !ok2 {
		return fmt.Errorf("%s has no block %q", path, block)
	}
	all := before + "<!-- begin: " + block + " -->\n" + text + "\n<!-- end: " + block + " -->" + after
	return os.WriteFile(path, []byte(all), 0o644)
}

// picture saves the first such element of a report as the browser shows it.
func picture(page, element, to string) error {
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.NoSandbox, chromedp.Flag("hide-scrollbars", true))
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	defer cancel()
	ctx, cancel = chromedp.NewContext(ctx)
	defer cancel()
	if err := chromedp.Do(ctx); err != nil { // starts the browser, without a deadline of its own
		return fmt.Errorf("start a browser: %w (on Debian: apt-get install chromium)", err)
	}
	ctx, cancel = context.WithTimeout(ctx, time.Minute)
	defer cancel()
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(1200, 900, chromedp.EmulateScale(1.5)), chromedp.Navigate("file://"+page)); err != nil {
		return fmt.Errorf("open %s: %w", page, err)
	}
	png, err := chromedp.Run(ctx, chromedp.Screenshot(chromedp.CSS(element)))
	if err != nil {
		return fmt.Errorf("take a picture of %s: %w", page, err)
	}
	return os.WriteFile(to, png, 0o644)
}
