package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"psafe/host/job/certify"
	"psafe/internal/outfile"
)

const predictAbout = `psafe predict evaluates networks at points: the logits and the class of the mean
network, and with --draws N what N drawn networks say (the posterior
predictive). It proves nothing; it shows whether psafe reads the posterior as it
was meant.

  psafe predict --posterior net.npz --inputs images.idx.gz --label labels.idx.gz
  psafe predict --posterior net.npz --inputs x.csv --draws 100 --json

Inputs are raw data, of which the posterior's own input.mean and input.std are
taken off. One line of CSV per point goes to --out or standard output, or of
JSON; a terminal gets a table of classes and margins. Of a finite set of samples
the mean network is that of the mean weights; --network K takes number K.`

// predictFlags are all flags of predict as typed.
type predictFlags struct {
	post    posteriorFlags
	predict certify.Predict
	index   string
	network int
	json    bool
	out     outFlags
	quiet   bool
	old     oldWords
}

func predictCommand() *cobra.Command {
	var c predictFlags
	p := &c.predict
	var path string
	cmd, f := newCommand("predict", "logits and classes at points, of the mean network or drawn ones", predictAbout, 0)
	f.StringVar(&path, "posterior", "", "posterior file or directory (docs/files.md); required")
	c.post.add(f)
	c.post.addFactor(f)
	c.post.addPredictive(f)
	addData(f, &p.Points, &c.index)
	f.StringVar(&p.Points.Label, "label", "", "the right class, for the accuracy: a number, a label file, or \"column\" for --label-column (the default if that names one; \"mean\" for none)")
	f.IntVar(&c.network, "network", 0, "evaluate this one of a set of samples, instead of the mean network")
	f.IntVar(&p.Draws, "draws", 0, "how many networks are drawn (default none)")
	f.Uint64Var(&p.Seed, "seed", 0, "seed of drawn networks")
	f.BoolVar(&c.json, "json", false, "one JSON object per point and line")
	c.out.add(f, "file to write; standard output if absent")
	f.BoolVar(&p.Strict, "strict", false, "make errors of doubts about the files, such as inputs on another scale or shifted labels, which are notes otherwise")
	f.BoolVar(&c.quiet, "quiet", false, "no notes and no accuracy")
	c.old.accept(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		var err error
		if p.Posterior, err = c.post.of(path); err != nil {
			return err
		}
		p.Points.Index, p.Network = given(f, "index", c.index), given(f, "network", c.network)
		if !c.quiet {
			c.old.tell(stderr)
			p.Note = func(n certify.Note) { note(stderr, n) }
		}
		accuracy, err := c.write(ctx, stdout)
		if err != nil || c.quiet || accuracy == nil {
			return err
		}
		words := fmt.Sprintf("accuracy %.4f: %d of %d", float64(accuracy.Right)/float64(accuracy.Points), accuracy.Right, accuracy.Points)
		if p.Draws > 0 {
			words += fmt.Sprintf("; by the mean probabilities of %d drawn networks %.4f: %d of %d", p.Draws, float64(accuracy.RightApprox)/float64(accuracy.Points), accuracy.RightApprox, accuracy.Points)
		}
		_, err = fmt.Fprintln(stderr, "psafe:", words)
		return err
	})
}

// write evaluates and writes to where the flags say.
func (c *predictFlags) write(ctx context.Context, stdout io.Writer) (*certify.Accuracy, error) {
	if c.out.path == "" {
		w := bufio.NewWriter(stdout)
		_, table := isTerminal(stdout)
		accuracy, err := c.lines(ctx, w, table)
		if err == nil {
			if err := w.Flush(); err != nil {
				return nil, &outfile.Error{Path: "standard output", Err: err}
			}
		}
		return accuracy, err
	}
	file, err := c.out.create(c.predict.Posterior.Path, c.predict.Points.Inputs, c.predict.Points.Label)
	if err != nil {
		return nil, err
	}
	defer file.Discard()
	w := bufio.NewWriter(file)
	accuracy, err := c.lines(ctx, w, false)
	if err != nil {
		return nil, err
	}
	if err := w.Flush(); err != nil {
		return nil, c.out.unwritten(err)
	}
	return accuracy, c.out.commit(file)
}

// lines writes a line for each point, and before the first of CSV or a table the names of the columns.
func (c *predictFlags) lines(ctx context.Context, w io.Writer, table bool) (*certify.Accuracy, error) {
	first := true
	return c.predict.Run(ctx, func(p *certify.Prediction) error {
		if c.json {
			return jsonLine(w, p)
		}
		if table {
			defer func() { first = false }()
			return printPrediction(w, p, first)
		}
		if first {
			first = false
			if _, err := fmt.Fprintln(w, strings.Join(columns(p), ",")); err != nil {
				return err
			}
		}
		_, err := fmt.Fprintln(w, strings.Join(cells(p), ","))
		return err
	})
}

func jsonLine(w io.Writer, p *certify.Prediction) error {
	lists := [][]float64{p.Logits}
	if p.Approx != nil {
		lists = append(lists, p.Approx.Mean, p.Approx.SD, p.Approx.Probabilities)
	}
	for _, list := range lists {
		if slices.ContainsFunc(list, func(v float64) bool { return math.IsNaN(v) || math.IsInf(v, 0) }) {
			return fmt.Errorf("index %d: a number is not finite, which JSON cannot say: leave --json out", p.Index)
		}
	}
	text, err := json.Marshal(p)
	if err == nil {
		_, err = w.Write(append(text, '\n'))
	}
	return err
}

// columns names the cells of a prediction.
func columns(p *certify.Prediction) []string {
	list := []string{"index"}
	several := func(name string, of []float64) {
		for i := range of {
			list = append(list, fmt.Sprintf("%s_%d", name, i))
		}
	}
	if p.Class != nil {
		list = append(list, "class")
	}
	if p.Label != nil {
		list = append(list, "label")
	}
	several("logit", p.Logits)
	if a := p.Approx; a != nil {
		if a.Class != nil {
			list = append(list, "approx_class")
		}
		several("approx_probability", a.Probabilities)
		several("approx_share", a.Shares)
		several("approx_logit_mean", a.Mean)
		several("approx_logit_sd", a.SD)
	}
	return list
}

// cells are the fields of a line of CSV, in the order of columns.
func cells(p *certify.Prediction) []string {
	list := []string{strconv.Itoa(p.Index)}
	one := func(v *int) {
		if v != nil {
			list = append(list, strconv.Itoa(*v))
		}
	}
	several := func(of []float64) {
		for _, v := range of {
			list = append(list, strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	one(p.Class)
	one(p.Label)
	several(p.Logits)
	if a := p.Approx; a != nil {
		one(a.Class)
		several(a.Probabilities)
		several(a.Shares)
		several(a.Mean)
		several(a.SD)
	}
	return list
}
