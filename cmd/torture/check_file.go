package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/checkers"
	"github.com/torture-harness/torture/checkers/sequential"
	"github.com/torture-harness/torture/harness/foreign"
	"github.com/torture-harness/torture/harness/history"
	"github.com/torture-harness/torture/harness/whole"
)

// fileFlags say how a single file is read and judged.
type fileFlags struct {
	model, format, html string
	budget              time.Duration
}

func (f *fileFlags) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.model, "model", "", "of a file: what it is a history of: "+modelNames())
	cmd.Flags().StringVar(&f.format, "format", string(foreign.Auto), "of a file: "+formatNames())
	cmd.Flags().DurationVar(&f.budget, "budget", time.Minute, "of a file: time for the search, for each independent key")
	cmd.Flags().StringVar(&f.html, "html", "", "of a file: write Porcupine's page about the first key that is not linearizable to this file")
}

// unused: a run is judged by all properties, so flags of a file mean a mistake.
func (f *fileFlags) unused(cmd *cobra.Command, path string) error {
	if _, err := os.Stat(path); err != nil {
		return usage{err}
	}
	for _, name := range []string{"model", "format", "budget", "html"} {
		if cmd.Flags().Changed(name) {
			return usage{fmt.Errorf("--%s is for a single file, not for a run folder", name)}
		}
	}
	return nil
}

func modelNames() string {
	var names []string
	for _, m := range sequential.Models {
		names = append(names, m.Name)
	}
	return strings.Join(names, ", ")
}

func formatNames() string {
	var names []string
	for _, f := range foreign.Formats {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// isFile: it is there, and no folder.
func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && !info.IsDir()
}

// checkFile judges one file that somebody else has recorded, or one of ours by
// a public model.
func checkFile(ctx context.Context, path string, f fileFlags) error {
	if f.budget <= 0 {
		return usage{fmt.Errorf("--budget %v leaves no time; give more, 1m say", f.budget)}
	}
	h, m, err := readFile(path, f.model, f.format)
	if err != nil {
		return err
	}
	res, err := sequential.Check(ctx, h, m, f.budget)
	if err != nil {
		return damage(err)
	}
	if err := res.Tell(os.Stdout, h, m); err != nil {
		return err
	}
	if f.html != "" {
		picture(f.html, res, m)
	}
	switch res.Verdict {
	case sequential.NotLinearizable:
		return exit(checkers.ExitCode(checkers.Failed))
	case sequential.Undecided:
		return exit(checkers.ExitCode(checkers.Inconclusive))
	}
	return nil
}

// readFile reads a history in any format for a model.
func readFile(path, model, format string) (*foreign.History, *sequential.Model, error) {
	if !slices.Contains(foreign.Formats, foreign.Format(format)) {
		return nil, nil, usage{fmt.Errorf("--format: unknown %q; it is one of %s", format, formatNames())}
	}
	found := foreign.Format(format)
	if found == foreign.Auto {
		var err error
		if found, err = foreign.Detect(path); err != nil {
			return nil, nil, usage{err}
		}
	}
	switch {
	case model == "" && found == foreign.Run:
		return nil, nil, usage{fmt.Errorf("%s: this belongs to a run: `torture check %s` judges it; or add --model with one of %s", path, filepath.Dir(path), modelNames())}
	case model == "":
		return nil, nil, usage{fmt.Errorf("%s: what is it a history of? Add --model with one of %s", path, modelNames())}
	}
	m := sequential.Named(model)
	if m == nil {
		return nil, nil, usage{fmt.Errorf("--model: unknown %q; it is one of %s", model, modelNames())}
	}
	if found == foreign.Run {
		h, err := readRun(path, model)
		return h, m, damage(err)
	}
	h, err := foreign.ReadFile(path, found, m.Payloads)
	return h, m, damage(err)
}

// readRun makes a history of ours one of a public model.
func readRun(path, model string) (*foreign.History, error) {
	h, err := history.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := h.Validate(); err != nil {
		return nil, err
	}
	return foreign.FromRun(h, model)
}

// damage is an error of a file, which is one of usage; but a fault of this
// program is none.
func damage(err error) error {
	if _, ours := err.(*sequential.Contradiction); err == nil || ours {
		return err
	}
	return usage{err}
}

// picture writes Porcupine's page. Without one the verdict stands.
func picture(path string, res *sequential.Result, m *sequential.Model) {
	var shown string
	err := whole.File(path, func(w io.Writer) (err error) {
		shown, err = m.Picture(w, res.First())
		return err
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, "torture: no picture:", err)
		return
	}
	fmt.Printf("%s shows %s\n", path, shown)
}
