package main

import (
	"context"
	"fmt"
	"io"

	"psafe/internal/outfile"
	"psafe/python"
)

const exporterAbout = `psafe exporter prints psafe_export.py, a Python file to copy beside a training
script: it saves posteriors of torch (bayesian-torch, blitz, torchbnn, own layers,
MC dropout, ensembles), laplace-torch, Pyro, NumPyro, TensorFlow Probability, HMC
and SWAG as files that psafe reads. docs/export.md has a script for each.

  psafe exporter --out psafe_export.py`

func runExporter(_ context.Context, args []string, stdout, _ io.Writer) error {
	f := newFlags("exporter", exporterAbout, stdout)
	out := f.String("out", "", "file to write (default standard output)")
	if err := parse(f, args, 0); err != nil {
		return err
	}
	if *out == "" {
		_, err := stdout.Write(python.Exporter)
		return err
	}
	file, err := outfile.Create(*out)
	if err != nil {
		return fmt.Errorf("--out %w", err)
	}
	defer file.Discard()
	if _, err := file.Write(python.Exporter); err != nil {
		return fmt.Errorf("--out %s: cannot be written: %w", *out, outfile.Reason(err))
	}
	if err := file.Commit(); err != nil {
		return fmt.Errorf("--out %w", err)
	}
	return nil
}
