// Command bench measures how long it takes to judge a history and how much
// memory, beside plain Porcupine on the same operations, and writes the table
// into docs/benchmarks.md.
//
// Each case is a process of its own, which makes the history, judges it and
// tells its peak memory (VmHWM). Plain Porcupine may take a minute and 8 GB;
// what needs more is stopped.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"time"
)

// Limits of one case.
const (
	searchFor  = time.Minute // what Porcupine is given
	patience   = 10 * time.Minute
	mostMemory = 8 << 30 // bytes
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run() error {
	out := flag.String("o", "docs/benchmarks.md", "where the table goes")
	only := flag.String("only", "", "only cases whose name contains this; then nothing is written")
	child := flag.String("case", "", "run this case in this process (internal)")
	plain := flag.Bool("plain", false, "with -case: plain Porcupine (internal)")
	flag.Parse()
	if *child != "" {
		return measureHere(*child, *plain)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var rows []row
	for _, c := range cases {
		if !strings.Contains(c.name, *only) {
			continue
		}
		r := row{benchCase: c}
		var err error
		if r.ours, err = measure(ctx, c.name, false); err != nil {
			return err
		}
		if !c.alone {
			if r.theirs, err = measure(ctx, c.name, true); err != nil {
				return err
			}
		}
		fmt.Printf("%s: %s; plain %s\n", c.name, r.ours, r.theirs)
		rows = append(rows, r)
	}
	if *only != "" {
		return nil
	}
	text := page(rows)
	fmt.Print(text)
	return os.WriteFile(*out, []byte(text), 0o644)
}

// measured is what one process has found.
type measured struct {
	Verdict string  `json:"verdict"`
	Wall    float64 `json:"wall"` // seconds, of judging alone
	CPU     float64 `json:"cpu"`  // seconds of all cores
	Peak    int64   `json:"peak"` // bytes, of the whole process
}

func (m measured) String() string {
	if m.Verdict == "" {
		return "not asked"
	}
	return fmt.Sprintf("%s, %.2f s, %.2f s of processors, %d MB", m.Verdict, m.Wall, m.CPU, m.Peak>>20)
}

// measure runs a case in a process of its own.
func measure(ctx context.Context, name string, plain bool) (measured, error) {
	self, err := os.Executable()
	if err != nil {
		return measured{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	// Address space, not memory, is what can be limited: the runtime reserves some.
	cmd := exec.CommandContext(ctx, "sh", "-c", `ulimit -v "$0" && exec "$@"`, strconv.Itoa((mostMemory+2<<30)>>10),
		self, "-case", name, "-plain="+strconv.FormatBool(plain))
	cmd.Env = append(os.Environ(), "GOMEMLIMIT="+strconv.Itoa(mostMemory))
	var out, trouble bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &trouble
	err = cmd.Run()
	var m measured
	switch {
	case err == nil:
		return m, json.Unmarshal(out.Bytes(), &m)
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return measured{Verdict: "stopped", Wall: patience.Seconds()}, nil
	case strings.Contains(trouble.String(), "out of memory") || strings.Contains(trouble.String(), "cannot allocate memory"):
		return measured{Verdict: "out of memory", Peak: mostMemory}, nil
	case ctx.Err() != nil:
		return m, ctx.Err()
	}
	return m, fmt.Errorf("%s: %w\n%s", name, err, trouble.String())
}
