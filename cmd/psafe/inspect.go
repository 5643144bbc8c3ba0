package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"psafe/host/measure"
	"psafe/host/posterior"
)

const inspectAbout = `psafe inspect prints what a posterior file holds: layers, numbers of weights,
quantiles of the standard deviations, and how wide a box around the mean must be
to hold 0.9 of the probability.

  psafe inspect net.npz`

func runInspect(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var post posteriorFlags
	f := newFlags("inspect", inspectAbout, stdout)
	post.add(f)
	if err := parse(f, args, 1); err != nil {
		return err
	}
	p, err := post.read(f.Arg(0))
	if err != nil {
		return err
	}
	return inspect(p, stdout)
}

func inspect(p *posterior.Posterior, w io.Writer) error {
	fmt.Fprintf(w, "%s: %s, scale %v, sha256 %s\n", p.Source.Path, p.Source.Format, p.Scale, p.Source.SHA256)
	if p.Source.Note != "" {
		fmt.Fprintf(w, "note: %s\n", p.Source.Note)
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "layer\tshape\tactivation\tweights\tsigma min\t1/4\tmedian\t3/4\tmax\t")
	random := 0
	for k, l := range p.Layers {
		for _, part := range []struct {
			name string
			g    *posterior.Gaussian
		}{{fmt.Sprintf("%d x %d", l.In, l.Out), &l.Weight}, {fmt.Sprintf("bias %d", l.Out), &l.Bias}} {
			q := posterior.Quantiles(part.g.SdHi)
			fmt.Fprintf(t, "%d\t%s\t%v\t%d\t%.3g\t%.3g\t%.3g\t%.3g\t%.3g\t\n", k, part.name, l.Activation, len(part.g.Mean), q[0], q[1], q[2], q[3], q[4])
			for _, sd := range part.g.SdHi {
				if sd > 0 {
					random++
				}
			}
		}
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d weights, %d of them random\n", p.Weights(), random)
	if random > 0 {
		_, err := fmt.Fprintf(w, "a box around the mean holds 0.9 of the probability from gamma = %.3f standard deviations on\n", measure.GammaForMassApprox(0.9, random))
		return err
	}
	return nil
}
