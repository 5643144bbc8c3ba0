package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"psafe/host/job/average"
	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/inputlaw"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/outfile"
)

// lawFlags are the flags of map about a law of inputs, and the law.
type lawFlags struct {
	text   string
	splits int
	of     *inputlaw.Law
}

func (l *lawFlags) add(f *pflag.FlagSet) {
	f.StringVar(&l.text, "input-law", "", "also bound how likely networks and inputs of this law are safe: a law for each input with ; between, such as \"normal:0,1;uniform:-1,1\", or cells:FILE or sample:FILE (docs/inputs.md)")
	f.IntVar(&l.splits, "splits", 0, "with --input-law, how many cells may be cut in two, those first that leave most open")
}

// mostSplits is how many cells may be cut, as a grid may have so many.
const mostSplits = 1 << 17

// cells reports whether the cells are those of the law.
func (l *lawFlags) cells() bool { return l.of != nil && l.of.Items != nil && l.of.Sample == 0 }

// readLaw reads the law, if there is one, and refuses what does not go with it.
func (m *mapFlags) readLaw() (err error) {
	switch {
	case m.law.splits < 0 || m.law.splits > mostSplits:
		return fmt.Errorf("--splits %d is not from 0 to %d: give how many cells may be cut", m.law.splits, mostSplits)
	case m.law.text == "" && m.law.splits > 0:
		return errors.New("--splits is about a law of inputs: give --input-law")
	case m.law.text == "":
		return nil
	case m.tasks.points.Relation != "" || m.tasks.points.Other != "":
		return errors.New("--input-law is about one network at each input: leave out --relation and --other")
	case m.tasks.points.InputNoise != "" || m.post.predictive == certify.PredictiveLinearised:
		return errors.New("--input-law is about networks that read the input as it is: leave out --input-noise and --predictive")
	case m.target != certify.TargetSafe && m.target != certify.TargetEach:
		return fmt.Errorf("--target %s: --input-law is by --target each: leave it out", m.target)
	case m.whole:
		return errors.New("--whole: the whole box is no cell of --input-law: leave it out")
	}
	if m.law.of, err = inputlaw.Read(m.law.text); err != nil {
		return fmt.Errorf("--input-law %w", err)
	}
	switch {
	case m.law.cells() && (m.box != "" || m.grid != ""):
		return errors.New("--box, --grid: the cells are those of --input-law: leave them out")
	case m.law.splits > 0 && m.law.of.Sides == nil:
		return errors.New("--splits: the masses of halves are known of laws of single inputs alone: leave it out")
	}
	if m.law.of.Sample > 0 && !(m.confidence > 0 && m.confidence < 1) {
		return fmt.Errorf("--options confidence=%v is not between 0 and 1: give another", m.confidence)
	}
	m.target = certify.TargetEach
	return nil
}

// gridOrLaw is the property file of the cells, and how many inputs they have.
func (m *mapFlags) gridOrLaw() (file []byte, inputs int, err error) {
	if m.law.cells() {
		var cells []property.Cell
		for i, item := range m.law.of.Items {
			cells = append(cells, property.Cell{Name: fmt.Sprintf("cell %d", i), Box: item.Box, Words: m.words})
		}
		file, err = property.CellsFile(cells, m.names)
		return file, m.law.of.Inputs(), err
	}
	inputs = strings.Count(m.grid, "x") + 1
	if m.law.of != nil && m.law.of.Inputs() != inputs {
		return nil, 0, fmt.Errorf("--input-law is of %d inputs, --grid of %d: give one for each", m.law.of.Inputs(), inputs)
	}
	file, err = property.GridFile(m.box, m.grid, m.words, m.names, m.whole)
	return file, inputs, err
}

// average bounds how likely an input of the law and a network are safe, and tells.
func (m *mapFlags) average(ctx context.Context, job certify.Job, stdout, stderr io.Writer) error {
	post, err := job.Posterior.Read()
	if err != nil {
		return err
	}
	if job.Method.Cells == nil { // --splits cuts what is open
		job.Method.Cells = new(1)
	}
	job.Method.NoUpper = true // upper bounds of P_safe are none at each input
	if by := job.Method.By; by == nil || *by == prove.Auto {
		method := prove.CLBP // what auto tries after it takes long, for many cells
		if post.Networks() != nil {
			method = prove.Finite
		}
		job.Method.By = &method
	}
	a := average.Job{
		Text: m.law.text, Law: m.law.of, Property: m.words, Posterior: post, Cells: m.tasks.words, Records: m.out.path,
		Splits: m.law.splits, Confidence: m.confidence, Old: m.old(), Inputs: []string{m.posterior}, Version: job.Version, Numerics: prove.Numerics,
		Certify: func(ctx context.Context, cells, records string) error {
			return m.more(ctx, &job, cells, records, stderr)
		},
	}
	if path := inputlaw.File(m.law.text); path != "" {
		a.Inputs = append(a.Inputs, path)
	}
	r, err := a.Run(ctx)
	if err != nil {
		return err
	}
	words := fmt.Sprintf("over %s and networks: safe with probability at least %s, at most %s; %s of the law is in %d cells: %s\n",
		plain(m.law.text), record.FormatDown(r.PLower, 6), record.FormatUp(r.PUpper, 6), record.FormatDown(r.Mass, 6), r.Cells, plain(m.out.path+average.ResultSuffix))
	if s := r.Sample; s != nil {
		words += fmt.Sprintf("statistical, not certified: of the law of the sample, from %s to %s with confidence %v, if no cell was chosen by the sample\n",
			record.FormatDown(s.Lower, 6), record.FormatUp(s.Upper, 6), s.Confidence)
	}
	if _, err := io.WriteString(stdout, words); err != nil {
		return &outfile.Error{Path: "standard output", Err: err}
	}
	return nil
}
