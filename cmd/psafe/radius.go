package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"psafe/host/job/certify"
	"psafe/host/prove"
	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/internal/outfile"
)

const radiusAbout = `psafe radius finds for each input the largest radius eps at which a verdict is
certified, and the smallest at which it is refuted, by bisection.

  psafe radius --posterior net.npz --inputs images.gz --clip 0,1 --most 0.1
  psafe radius --posterior net.npz --inputs images.gz --target decision \
      --method clbp --most 0.05 --step 0.0005 --out radii.jsonl

The verdict is safe against --require, or with --target decision what the
posterior predictive decides. Radii are multiples of --step. Each input has a
line of CSV on standard output. The records at both ends go to --out, where
psafe check proves them again; means over these records say nothing of the
inputs, as a radius was chosen for its verdict.`

type radiusFlags struct {
	certifyFlags
	ask certify.Radii
}

func (c *radiusFlags) add(f *pflag.FlagSet) {
	f.StringVar(&c.posterior, "posterior", "", "`FILE` or folder of the posterior (docs/formats.md); required")
	c.post.add(f)
	c.post.addFactor(f)
	c.post.addPredictive(f)
	addData(f, &c.tasks.points, &c.tasks.index)
	c.tasks.addRegion(f)
	f.StringVar(&c.ask.Most, "most", "", "the largest radius that is looked at, such as 0.1; required")
	f.StringVar(&c.ask.Step, "step", "", "radii are multiples of this, such as 0.001 or 1/255 (default a 256th of --most)")
	c.addTarget(f)
	f.StringVar(&c.require, "require", certify.DefaultRequire, "safe needs p_lower at least this, unsafe p_upper below it")
	f.StringVar(&c.method, "method", prove.Auto.String(), "as for certify")
	f.IntVar(&c.cells, "cells", 0, "how many cells T may be cut into (default by method: docs/cli.md)")
	c.device.add(f)
	c.out.add(f, "`FILE` of the records at both ends, JSON Lines")
	f.BoolVar(&c.noTiming, "omit-timing", false, "leave seconds and peak_bytes out of the records")
	f.StringVar(&c.progress, "progress", progressAuto, "auto (a bar on a terminal, else a line every 30 s), json (a line every second) or none")
	f.BoolVar(&c.quiet, "quiet", false, "no progress, notes or means")
}

func radiusCommand() *cobra.Command {
	c := &radiusFlags{}
	c.boxes, c.recheck = prove.Centred.String(), certify.DefaultRecheck
	cmd, f := newCommand("radius", "the largest certified, smallest refuted radius of each input", radiusAbout, 0)
	c.add(f)
	return does(cmd, func(ctx context.Context, stdout, stderr io.Writer) error {
		if err := progressMistaken(c.progress); err != nil {
			return err
		}
		job, err := c.job(f)
		if err != nil {
			return err
		}
		if c.ask, err = withStep(c.ask); err != nil {
			return err
		}
		return c.search(ctx, job, stdout, stderr)
	})
}

// withStep has a 256th of --most where no step is given.
func withStep(ask certify.Radii) (certify.Radii, error) {
	if ask.Most == "" {
		return ask, fmt.Errorf("--most is missing: the largest radius that is looked at, for example 0.1")
	}
	if ask.Step != "" {
		return ask, nil
	}
	most, err := property.NewExact(ask.Most)
	if err != nil {
		return ask, fmt.Errorf("--most %w", err)
	}
	ask.Step = most.Rat().Quo(most.Rat(), big.NewRat(256, 1)).RatString()
	return ask, nil
}

// search finds the radii and writes them.
func (c *radiusFlags) search(ctx context.Context, job *certify.Job, stdout, stderr io.Writer) error {
	job.Out = certify.Output{OmitTiming: c.noTiming}
	inputs := []string{job.Posterior.Path, job.Tasks.Points.Inputs, property.FileOf(job.Tasks.Points.Label)}
	if c.out.path != "" {
		if record.IsTable(c.out.path) {
			return fmt.Errorf("--out %.60s: the records of radii are JSON Lines: give another name", c.out.path)
		}
		if err := c.out.refuse(inputs...); err != nil {
			return err
		}
	}
	if done, err := c.device.supervised(ctx, newSupervised(ctx, stdout, stderr, "")); done || err != nil {
		return err
	}
	job.Version, job.Open = version(), c.device.opener(stderr)
	progress := newProgress(stderr, c.progress)
	if c.progress == progressJSON || !c.quiet {
		job.Progress = progress.update
	}
	if !c.quiet {
		job.Note = func(n certify.Note) { note(stderr, n) }
	}
	list, err := job.Radii(ctx, c.ask)
	progress.end()
	if err != nil {
		return err
	}
	if c.out.path != "" {
		if err := c.keep(certify.RecordsOf(list), inputs); err != nil {
			return err
		}
	}
	w := bufio.NewWriter(forProgram(stdout))
	fmt.Fprintln(w, "index,label,certified,refuted")
	for _, r := range list {
		label := ""
		if r.Label != nil {
			label = strconv.Itoa(*r.Label)
		}
		fmt.Fprintf(w, "%d,%s,%s,%s\n", r.Index, label, epsOf(r.Certified), epsOf(r.Refuted))
	}
	if err := w.Flush(); err != nil {
		return &outfile.Error{Path: "standard output", Err: err}
	}
	if !c.quiet {
		fmt.Fprintln(stderr, "psafe:", meansOfRadii(list))
	}
	return nil
}

// keep writes the records.
func (c *radiusFlags) keep(records []*record.Record, inputs []string) error {
	file, err := c.out.create(inputs...)
	if err != nil {
		return err
	}
	defer file.Discard()
	w := bufio.NewWriter(file)
	for _, r := range records {
		if err := r.Write(w); err != nil {
			return c.out.unwritten(err)
		}
	}
	if err := w.Flush(); err != nil {
		return c.out.unwritten(err)
	}
	return c.out.commit(file)
}

// epsOf is the radius of a record, empty without one.
func epsOf(r *record.Record) string {
	if r == nil {
		return ""
	}
	return r.Eps
}

// meansOfRadii says in a line how large radii are: the means of what is certified, where nothing is 0,
// rounded down, and of what is refuted among those where something is, rounded up.
func meansOfRadii(list []*certify.Radius) string {
	certified, refuted := new(big.Rat), new(big.Rat)
	n, m := 0, 0
	var decided record.Decisions
	for _, r := range list {
		if r.Certified != nil {
			n++
			decided.Add(r.Certified)
			certified.Add(certified, property.MustExact(r.Certified.Eps).Rat())
		}
		if r.Refuted != nil {
			m++
			refuted.Add(refuted, property.MustExact(r.Refuted.Eps).Rat())
		}
	}
	mean := func(sum *big.Rat, n int, up bool) string {
		sum.Mul(sum, big.NewRat(1e6, int64(max(1, n))))
		whole, rest := new(big.Int).QuoRem(sum.Num(), sum.Denom(), new(big.Int))
		if up && rest.Sign() > 0 {
			whole.Add(whole, big.NewInt(1))
		}
		return new(big.Rat).SetFrac(whole, big.NewInt(1e6)).FloatString(6)
	}
	words := []string{fmt.Sprintf("%d of %d inputs have a certified radius, of %s on average over all", n, len(list), mean(certified, len(list), false))}
	if m > 0 {
		words = append(words, fmt.Sprintf("%d a refuted one, of %s on average over these", m, mean(refuted, m, true)))
	}
	if decided.Rejecting > 0 {
		words = append(words, fmt.Sprintf("the class itself is taken at %d of the certified radii: elsewhere the decision that stays is another, such as to abstain", decided.Taken))
	}
	return strings.Join(words, "; ")
}
