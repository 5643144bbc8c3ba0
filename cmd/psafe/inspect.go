package main

import (
	"context"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"

	"psafe/host/measure"
	"psafe/host/posterior"
	"psafe/host/posterior/audit"
	"psafe/host/run"
)

const inspectAbout = `psafe inspect prints what a posterior file holds: the kind of distribution,
layers, numbers of weights, quantiles of the standard deviations, and, of
independent normal weights, how wide a box around the mean must be to hold 0.9
of the probability.

It warns of what is improbable. --check says what was compared when the file was
read, if it carries reference inputs and logits.

  psafe inspect net.npz --check`

func runInspect(_ context.Context, args []string, stdout, stderr io.Writer) error {
	var post posteriorFlags
	f := newFlags("inspect", inspectAbout, stdout)
	post.add(f)
	check := f.Bool("check", false, "say how the network compares with the reference logits of the file")
	if err := parse(f, args, 1); err != nil {
		return err
	}
	p, err := post.read(f.Arg(0))
	if err != nil {
		return err
	}
	if err := inspect(p, stdout); err != nil {
		return err
	}
	if *check {
		if err := printCheck(p, stdout); err != nil {
			return err
		}
	}
	for _, n := range run.Doubts(p) {
		fmt.Fprintf(stdout, "warning: %s\n", plain(n.String()))
	}
	return nil
}

// printCheck says what a file's references were compared with. That it was read says that
// they fit.
func printCheck(p *posterior.Posterior, w io.Writer) error {
	c, err := audit.Compare(p)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Source.Path, err)
	}
	if c.References == 0 && c.Spreads == 0 {
		fmt.Fprintln(w, "check: no references in this file: psafe exporter writes them (docs/formats.md)")
		return nil
	}
	if c.References > 0 {
		arithmetic := "float32"
		if c.Coarse {
			arithmetic = "TF32, not of float32"
		}
		fmt.Fprintf(w, "check: %d of %d reference inputs compared: logits differ by %.3g at most, the tolerance there is %.3g, of %s\n", c.Compared, c.References, c.Largest, c.Tolerance, arithmetic)
	}
	if c.Spreads > 0 {
		fmt.Fprintf(w, "check: %d means of standard deviations compared: they agree\n", c.Spreads)
	}
	return nil
}

func inspect(p *posterior.Posterior, w io.Writer) error {
	what := fmt.Sprintf("scale %v", p.Scale)
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
		row(fmt.Sprintf("bias %d", l.Outputs()), spread.Bias)
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
