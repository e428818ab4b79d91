package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/torture-harness/torture/harness/foreign"
	"github.com/torture-harness/torture/harness/whole"
)

func exportCommand() *cobra.Command {
	var model, format, resource, to string
	cmd := &cobra.Command{
		Use:   "export DIR|FILE",
		Short: "Write a history as EDN, which Jepsen and Knossos read",
		Long: `Writes the history of one cell of a run, or a history that others have recorded,
as EDN: one operation map a line, nothing around them, as in the history.edn of a
Jepsen run. Resources become independent keys, values [key value]; --resource
takes one of them and leaves the key out. What the operations of a cell become
depends on the model (docs/histories.md).`,
		Example: `  torture export results/latest/cells/setnx.pause-holder --model cas-register
  torture export results/latest/cells/setnx.pause-holder --resource r03 -o r03.edn
  torture export etcd_000.log --model cas-register -o etcd_000.edn`,
		Args: exactly(1, "one folder of a cell, or one file with a history"),
		RunE: func(_ *cobra.Command, args []string) error {
			path := args[0]
			if !isFile(path) {
				path = filepath.Join(path, "history.jsonl")
				if _, err := os.Stat(path); err != nil {
					return usage{fmt.Errorf("%s: no cell of a run is there; give a folder of results/latest/cells/, or a file", args[0])}
				}
			}
			if found, err := foreign.Detect(path); err == nil && found == foreign.Run {
				model = cmp.Or(model, foreign.Register)
			}
			h, _, err := readFile(path, model, format)
			if err != nil {
				return err
			}
			if resource != "" {
				if h, err = h.Only(resource); err != nil {
					return usage{err}
				}
			}
			if to == "" {
				return h.Write(os.Stdout)
			}
			if err := whole.File(to, h.Write); err != nil {
				return usage{err}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&model, "model", "", "what it is a history of: "+modelNames()+" (of a cell: register)")
	cmd.Flags().StringVar(&format, "format", string(foreign.Auto), "of a file: "+formatNames())
	cmd.Flags().StringVar(&resource, "resource", "", "only this resource, or independent key")
	cmd.Flags().StringVarP(&to, "output", "o", "", "file to write (default: standard output)")
	return cmd
}
