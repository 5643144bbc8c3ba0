package main

import (
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"psafe/python"
)

const exporterAbout = `psafe exporter prints psafe_export.py, a Python file to copy beside a training
script: it saves posteriors of torch (bayesian-torch, blitz, torchbnn, own
layers, MC dropout, ensembles), laplace-torch, Pyro, NumPyro, TensorFlow
Probability, HMC and SWAG as files that psafe reads (docs/start.md).

  psafe exporter --out psafe_export.py`

func exporterCommand() *cobra.Command {
	cmd, f := newCommand("exporter", "the Python file that saves posteriors of torch, Pyro, TFP, ...", exporterAbout, 0)
	var out outFlags
	out.add(f, "file to write (default standard output)")
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
