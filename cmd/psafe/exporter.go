package main

import (
	"context"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"psafe/python"
)

const exporterAbout = `psafe exporter prints psafe_export.py, a Python file to copy beside a training
script: it saves posteriors of torch (bayesian-torch, blitz, torchbnn, own
layers, MC dropout, ensembles), laplace-torch, Pyro, NumPyro, TensorFlow
Probability, HMC and SWAG as files that psafe reads (docs/start.md).

  psafe exporter --out psafe_export.py`

// saves are the functions of the file that write posteriors.
var saves = regexp.MustCompile(`(?m)^def (save_\w+)\(`)

func exporterCommand() *cobra.Command {
	cmd, f := newCommand("exporter", "the Python file that saves posteriors of torch, Pyro, TFP, ...", exporterAbout, 0)
	var out outFlags
	out.add(f, "file to write (default standard output)")
	cmd.Args = func(_ *cobra.Command, got []string) error {
		if len(got) == 0 {
			return nil
		}
		var names []string
		for _, m := range saves.FindAllSubmatch(python.Exporter, -1) {
			names = append(names, string(m[1]))
		}
		return fmt.Errorf("exporter: %.60q belongs to no flag: the one file that it prints has %s; psafe help exporter", got[0], strings.Join(names, ", "))
	}
	return does(cmd, func(_ context.Context, stdout, stderr io.Writer) error {
		if out.path == "" {
			_, err := forProgram(stdout).Write(python.Exporter)
			return err
		}
		if err := out.write(python.Exporter); err != nil {
			return err
		}
		_, err := fmt.Fprintf(stderr, "psafe: %s: import it in the script that trains; docs/start.md has examples\n", plain(out.path))
		return err
	})
}
