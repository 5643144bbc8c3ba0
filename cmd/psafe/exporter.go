package main

import (
	"context"
	"io"

	"psafe/python"
)

const exporterAbout = `psafe exporter prints psafe_export.py, a Python file to copy beside a training
script: it saves posteriors of torch (bayesian-torch, blitz, torchbnn, own layers,
MC dropout, ensembles), laplace-torch, Pyro, NumPyro, TensorFlow Probability, HMC
and SWAG as files that psafe reads. docs/export.md has a script for each.

  psafe exporter --out psafe_export.py`

func runExporter(_ context.Context, args []string, stdout, _ io.Writer) error {
	f := newFlags("exporter", exporterAbout, stdout)
	var out outFlags
	out.add(f, "file to write (default standard output)")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	if out.path == "" {
		_, err := forProgram(stdout).Write(python.Exporter)
		return err
	}
	return out.write(python.Exporter)
}
