package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"psafe/host/measure"
	"psafe/host/posterior"
)

const inspectAbout = `psafe inspect prints what a posterior file holds: the kind of distribution,
layers, numbers of weights, quantiles of the standard deviations, and, of
independent normal weights, how wide a box around the mean must be to hold 0.9
of the probability.

  psafe inspect net.npz`

func runInspect(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var post posteriorFlags
	f := newFlags("inspect", inspectAbout, stdout)
	post.add(f)
	asJSON := f.Bool("json", false, jsonUsage)
	if err := parse(f, args, 1); err != nil {
		return err
	}
	p, err := post.read(f.Arg(0))
	if err != nil {
		return err
	}
	if *asJSON {
		return printJSON(stdout, inspectFields(p))
	}
	return inspect(p, stdout)
}

func inspect(p *posterior.Posterior, w io.Writer) error {
	what := fmt.Sprintf("scale %s", p.ScaleList())
	switch p.Kind {
	case posterior.KindSamples, posterior.KindDropout:
		what = p.Describe()
	case posterior.KindSWAG:
		what = p.Describe() + ", " + what
	}
	fmt.Fprintf(w, "%s: %s, %s, sha256 %s\n", plain(p.Source.Path), p.Source.Format, what, p.Source.SHA256)
	if p.Source.Note != "" {
		fmt.Fprintf(w, "note: %s\n", plain(p.Source.Note))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "layer\tshape\tactivation\tweights\tsigma min\t1/4\tmedian\t3/4\tmax\t")
	random := 0
	for k, spread := range p.SpreadSummary() {
		l := &p.Layers[k]
		row := func(shape string, s posterior.Spread) {
			q := s.Quantiles
			fmt.Fprintf(t, "%d\t%s\t%v\t%d\t%.3g\t%.3g\t%.3g\t%.3g\t%.3g\t\n", k, shape, l.Activation, s.N, q[0], q[1], q[2], q[3], q[4])
			random += s.Random
		}
		row(fmt.Sprintf("%d x %d", l.Inputs(), l.Outputs()), spread.Weight)
		bias := fmt.Sprintf("bias %d", l.Outputs())
		if l.NoBias {
			bias = "no bias"
		}
		row(bias, spread.Bias)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d weights, %d of them random\n", p.Weights(), random)
	if s := p.Samples(); s != nil {
		fmt.Fprintf(w, "%d samples, counts from %d to %d, %d together\n", s.N(), slices.Min(s.Counts), slices.Max(s.Counts), s.Total())
	}
	if random > 0 && p.Independent() {
		_, err := fmt.Fprintf(w, "a box around the mean holds 0.9 of the probability from gamma = %.3f standard deviations on\n", measure.GammaForMassApprox(0.9, random))
		return err
	}
	return nil
}
