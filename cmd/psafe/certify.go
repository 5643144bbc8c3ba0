package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/spf13/pflag"

	"psafe/host/bound"
	"psafe/host/certify"
	"psafe/host/posterior"
	"psafe/host/property"
	"psafe/host/report"
	"psafe/internal/outfile"
)

// certifyFlags are all flags of certify as typed.
type certifyFlags struct {
	posterior string
	post      posteriorFlags
	tasks     taskFlags

	method, boxes  string
	samples, cells int
	gamma          float64
	splits         int
	uniform        bool
	seed           uint64
	confidence     float64
	noUpper        bool
	derived        bool

	device    deviceFlags
	out       string
	resume    bool
	require   float64
	failUnder float64
	noTiming  bool
	quiet     bool

	cfg certify.Config
	// words are for the field flags of records.
	words string
}

const certifyAbout = `psafe certify proves lower and upper bounds of P_safe(T, S), the probability over
the posterior that the network maps all of the input region T into the safe set S.

  psafe certify --posterior net.npz --inputs images.idx.gz --index 0:100 --eps 0.01 --clip 0,1
  psafe certify --posterior net.npz --property properties.json

One line of JSON per input goes to --out or standard output; p_lower is rounded
down and p_upper up. --method statistical adds an interval that holds with a
confidence; it is no certificate, and no part of p_lower and p_upper. A table and
a progress bar appear when standard error is a terminal.

Records go to OUT.partial as they are finished, which becomes OUT when all are
there. After an interruption the same command with --resume goes on and ends with
the same file.`

func (c *certifyFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.posterior, "posterior", "", "posterior file or directory (docs/formats.md); required")
	c.post.add(f)
	c.post.addFactor(f)
	c.tasks.add(f)
	f.StringVar(&c.method, "method", "auto", "auto (the best of clbp, neuronsum and lbp), ibp or lbp (weight boxes), clbp (concentration), neuronsum (one hidden layer), samples (a finite posterior, exactly) or statistical")
	f.StringVar(&c.boxes, "boxes", "centred", "weight boxes: centred (one around the mean, as wide as verifies) or sampled (Algorithm 1)")
	f.IntVar(&c.samples, "samples", 0, "number of sampled boxes, or of networks for the statistical interval (default none, 1000 with --method statistical)")
	f.Float64Var(&c.confidence, "confidence", 0.99, "confidence of --method statistical")
	f.IntVar(&c.cells, "cells", 0, "how many cells T may be cut into (default: docs/cli.md; 1 for more than 8 inputs)")
	f.Float64Var(&c.gamma, "gamma", 0, "half-width of weight boxes in standard deviations; centred boxes search for the largest if it is absent")
	f.IntVar(&c.splits, "splits", 0, "how often a centred box may be cut to prove more")
	f.BoolVar(&c.uniform, "uniform", false, "keep one gamma for all layers of a centred box")
	f.Uint64Var(&c.seed, "seed", 0, "seed of sampled boxes and of --method statistical")
	c.device.add(f)
	f.StringVar(&c.out, "out", "", "result file (JSON Lines); standard output if absent")
	f.BoolVar(&c.resume, "resume", false, "go on with the finished records in OUT.partial, if there are any; done if OUT is this run's, complete")
	f.Float64Var(&c.require, "require", 0.9, "verdict safe needs p_lower at least this, unsafe p_upper less")
	f.BoolVar(&c.noUpper, "no-upper", false, "do not look for upper bounds")
	f.BoolVar(&c.derived, "derived", false, "add bounds of inf_x Prob(f(x) in S) and of inf_x E row(x)")
	f.Float64Var(&c.failUnder, "fail-under", 0, "exit with status 10 if a p_lower is under this")
	f.BoolVar(&c.noTiming, "omit-timing", false, "leave the fields seconds and peak_bytes out, so that two runs give identical files")
	f.BoolVar(&c.quiet, "quiet", false, "no table, progress bar or notes")
}

// check refuses flags that contradict each other or say nothing.
func (c *certifyFlags) check(f *pflag.FlagSet) error {
	c.cfg.Samples, c.cfg.Gamma, c.cfg.Splits, c.cfg.Uniform, c.cfg.Seed = c.samples, c.gamma, c.splits, c.uniform, c.seed
	c.cfg.NoUpper, c.cfg.Derived = c.noUpper, c.derived
	if err := c.chooseMethod(f); err != nil {
		return err
	}
	sampled := c.cfg.Strategy == certify.Sampled
	switch {
	case c.posterior == "":
		return errors.New("--posterior is missing: name a posterior file")
	case f.Changed("gamma") && !(c.gamma >= leastGamma && c.gamma <= mostGamma):
		return fmt.Errorf("--gamma %v is not between %v and %v", c.gamma, leastGamma, mostGamma)
	case f.Changed("samples") && (c.samples < 1 || c.samples > mostSamples):
		return fmt.Errorf("--samples %d is not between 1 and %d", c.samples, mostSamples)
	case c.splits < 0:
		return fmt.Errorf("--splits %d is negative", c.splits)
	case c.splits > 0 && f.Changed("gamma"):
		return errors.New("--splits and --gamma cannot be combined: pieces are cut from wider boxes than any one gamma")
	case sampled && (c.splits > 0 || c.uniform):
		return errors.New("--splits and --uniform are for --boxes centred")
	case c.resume && c.out == "":
		return errors.New("--resume needs --out FILE: what is finished is in FILE.partial")
	case !(c.require >= 0 && c.require <= 1):
		return fmt.Errorf("--require %v is no probability", c.require)
	case !(c.failUnder >= 0 && c.failUnder <= 1):
		return fmt.Errorf("--fail-under %v is no probability", c.failUnder)
	}
	return nil
}

// Limits of what may be asked for.
const (
	leastGamma, mostGamma = 1e-6, 100
	mostSamples           = 100_000_000
)

func runCertify(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var c certifyFlags
	post, job, err := c.prepare(args, stdout)
	if err != nil {
		return err
	}
	return c.write(ctx, post, job, stdout, stderr)
}

// prepare reads the flags and the files that they name.
func (c *certifyFlags) prepare(args []string, stdout io.Writer) (*posterior.Posterior, *taskList, error) {
	f := newFlags("certify", certifyAbout, stdout)
	c.add(f)
	if err := parse(f, args, 0); err != nil {
		return nil, nil, err
	}
	if err := c.check(f); err != nil {
		return nil, nil, err
	}
	post, err := c.post.read(c.posterior)
	if err != nil {
		return nil, nil, err
	}
	if err := c.suits(post); err != nil {
		return nil, nil, err
	}
	c.words = c.numberWords(f)
	job, err := c.tasks.load(post)
	if err != nil {
		return nil, nil, err
	}
	return post, job, c.complete(job)
}

// complete checks what depends on the tasks.
func (c *certifyFlags) complete(job *taskList) error {
	if c.cfg.Strategy != certify.Sampled {
		return nil
	}
	for _, t := range job.tasks {
		if c.samples == 0 && t.Samples == 0 {
			return errors.New("--boxes sampled needs --samples N: how many boxes to draw")
		}
		if c.gamma == 0 && t.Gamma == 0 {
			return errors.New("--boxes sampled needs --gamma G: the half-width of each box in standard deviations")
		}
		if c.gamma == 0 && !(t.Gamma >= leastGamma && t.Gamma <= mostGamma) {
			return fmt.Errorf("%s: property %d (%q): gamma %v is not between %v and %v", job.source, t.Index, t.Name, t.Gamma, leastGamma, mostGamma)
		}
		if c.samples == 0 && t.Samples > mostSamples {
			return fmt.Errorf("%s: property %d (%q): %d samples are more than %d", job.source, t.Index, t.Name, t.Samples, mostSamples)
		}
	}
	return nil
}

// reach is the largest half-width that the run can ask for.
func (c *certifyFlags) reach(job *taskList) float64 {
	reach := math.Max(12, c.gamma)
	if c.cfg.Strategy == certify.Sampled {
		for _, t := range job.tasks {
			reach = math.Max(reach, t.Gamma)
		}
	}
	return reach
}

// write certifies the tasks that no earlier run has finished and writes the records.
func (c *certifyFlags) write(ctx context.Context, post *posterior.Posterior, job *taskList, stdout, stderr io.Writer) error {
	old, err := c.earlier(post, job)
	if err != nil {
		return err
	}
	if !c.quiet && old.note != "" {
		fmt.Fprintln(stderr, "psafe: note:", old.note)
	}
	records := old.records
	switch {
	case old.final:
	case len(records) == len(job.tasks): // stopped just before the file got its name
		err = old.settle(c.out)
	default:
		records, err = c.compute(ctx, post, job, old, stdout, stderr)
	}
	if err != nil {
		return err
	}
	return c.finish(records, stderr)
}

// compute opens the devices and certifies what is left to do.
func (c *certifyFlags) compute(ctx context.Context, post *posterior.Posterior, job *taskList, old *earlier, stdout, stderr io.Writer) ([]*report.Record, error) {
	dev, err := c.device.open(stderr)
	if err != nil {
		return nil, err
	}
	defer dev.close()
	if err := job.fits(dev.list[0].Precision()); err != nil {
		return nil, err
	}
	var engines []*certify.Engine
	for _, d := range dev.list {
		// All tasks count for reach, also those that are done: it decides numbers.
		eng, err := certify.NewEngine(d, dev.spare, post, c.reach(job))
		if err != nil {
			return nil, c.device.blame(err, c.posterior)
		}
		defer eng.Close()
		engines = append(engines, eng)
	}
	if !c.quiet {
		c.noteCeiling(post, engines[0].Precision(), job, stderr)
	}
	records, err := c.goOn(ctx, engines, post, job, old, stdout, stderr)
	if err != nil {
		return nil, err
	}
	return records, dev.printProfile(stderr)
}

// goOn certifies what is left and writes it behind what there is. Nothing is left to
// refuse when it creates the file.
func (c *certifyFlags) goOn(ctx context.Context, engines []*certify.Engine, post *posterior.Posterior, job *taskList, old *earlier, stdout, stderr io.Writer) ([]*report.Record, error) {
	if c.out == "" {
		return c.run(ctx, engines, post, job, job.tasks, stdout, stderr)
	}
	out, err := openPartial(c.out, old)
	if err != nil {
		return nil, err
	}
	records, err := c.run(ctx, engines, post, job, job.tasks[len(old.records):], out, stderr)
	if err == nil {
		err = out.commit()
	}
	if err != nil {
		return nil, out.leave(err, len(job.tasks))
	}
	return append(old.records, records...), nil
}

// watchKey is the key of a function in a context that is told how many of a run's
// records are done: for a command that runs many.
type watchKey struct{}

// run emits a record for each of the tasks.
func (c *certifyFlags) run(ctx context.Context, engines []*certify.Engine, post *posterior.Posterior, job *taskList, tasks []property.Task, w, stderr io.Writer) ([]*report.Record, error) {
	var bar *progress
	if !c.quiet {
		bar = newProgress(stderr, len(tasks))
	}
	defer bar.end()
	update := bar.update
	if watch, ok := ctx.Value(watchKey{}).(func(done, total int)); ok {
		update = func(done int) { watch(done, len(tasks)) }
	}
	var records []*report.Record
	err := certify.Run(ctx, engines, c.cfg, tasks, update, func(res *certify.Result) error {
		rec := c.known(post, job, res.Task)
		rec.Fill(res, c.require)
		if rec.PeakBytes = peakBytes(); c.noTiming {
			rec.Seconds, rec.PeakBytes = nil, nil
		}
		records = append(records, rec)
		return writeRecord(rec, w, c.out)
	})
	var s *statusError
	switch {
	case err == nil || errors.As(err, &s):
	case ctx.Err() != nil:
		err = context.Canceled // whatever cause a signal or a deadline gave it
	default:
		err = &statusError{exitDevice, fmt.Errorf("device %s: %w", engines[0].Name(), err)}
	}
	return records, err
}

// activations lists the hidden activations, first layer first: some formats do not
// say them, and a certificate is about one function.
func activations(post *posterior.Posterior) []string {
	words := []string{}
	for _, l := range post.Layers[:len(post.Layers)-1] {
		words = append(words, l.Activation.String())
	}
	return words
}

func writeRecord(rec *report.Record, w io.Writer, path string) error {
	if err := rec.Write(w); err != nil {
		if path == "" {
			path = "standard output"
		}
		return &statusError{exitUsage, fmt.Errorf("%s: cannot be written: %w", path, outfile.Reason(err))}
	}
	return nil
}

// noteCeiling tells, before anything is propagated, what sampled boxes can hold
// at most, when that makes the run pointless.
func (c *certifyFlags) noteCeiling(post *posterior.Posterior, p bound.Precision, job *taskList, stderr io.Writer) {
	if c.cfg.Strategy != certify.Sampled {
		return
	}
	type setting struct {
		n     int
		gamma float64
	}
	said := map[setting]bool{}
	for _, t := range job.tasks {
		s := setting{c.samples, c.gamma}
		if s.n == 0 {
			s.n = t.Samples
		}
		if s.gamma == 0 {
			s.gamma = t.Gamma
		}
		if ceiling := certify.Ceiling(post, p, s.n, s.gamma); ceiling < math.Log10(max(c.require, 1e-300)) && !said[s] {
			said[s] = true
			fmt.Fprintf(stderr, "psafe: note: %d boxes of half-width %v sigma around samples hold at most 10^%.1f of the mass of %d weights, whatever is proved: use --boxes centred\n",
				s.n, s.gamma, math.Ceil(ceiling*10)/10, post.Weights())
		}
	}
}

// finish prints the table and decides the exit status.
func (c *certifyFlags) finish(records []*report.Record, stderr io.Writer) error {
	if _, terminal := isTerminal(stderr); terminal && !c.quiet {
		if err := report.Table(stderr, records); err != nil {
			return err
		}
	} else if !c.quiet {
		fmt.Fprintln(stderr, "psafe:", report.Summary(records))
	}
	if !c.quiet {
		explainNothing(records, stderr)
	}
	for _, r := range records {
		if r.PLower < c.failUnder {
			return &statusError{exitUnder, fmt.Errorf("index %d: p_lower %s is under --fail-under %v", r.Index, report.FormatDown(r.PLower, 6), c.failUnder)}
		}
	}
	return nil
}

// explainNothing says why records certify nothing.
func explainNothing(records []*report.Record, stderr io.Writer) {
	hopeless, tiny, noise := 0, 0, 0
	for _, r := range records {
		switch {
		case r.PLower != 0 || r.Verdict == "unsafe" || r.Method == "statistical" || r.Boxes == certify.Sampled.String():
		case r.Boxes == "":
			noise++
		case r.SafeBoxes == nil || *r.SafeBoxes == 0:
			hopeless++
		default:
			tiny++
		}
	}
	if hopeless > 0 {
		fmt.Fprintf(stderr, "psafe: note: for %d input(s) no box around the mean was proved safe on T: a smaller --eps (or --method auto, if it was another) may help; p_lower 0 means unknown, not unsafe\n", hopeless)
	}
	if tiny > 0 {
		fmt.Fprintf(stderr, "psafe: note: for %d input(s) the box that was proved holds too little to show as p_lower: see log10_p_lower; the spread of the posterior is large for this eps: try --method auto\n", tiny)
	}
	if noise > 0 {
		fmt.Fprintf(stderr, "psafe: note: for %d input(s) nothing was proved: p_lower 0 means unknown, not unsafe; a smaller --eps may help, and --method statistical says what drawn networks do\n", noise)
	}
}
