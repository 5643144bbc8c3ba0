package main

import (
	"context"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"psafe/host/job/certify"
	"psafe/host/model/audit"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove/probability"
)

const inspectAbout = `psafe inspect prints what a posterior file holds: the kind of distribution,
layers, numbers of weights, quantiles of the standard deviations, and, of
independent normal weights, how wide a box around the mean must be to hold 0.9
of the probability.

It warns of what is improbable. --check says what was compared when the file was
read, if it carries reference inputs and logits.

  psafe inspect net.npz --check`

func inspectCommand() *cobra.Command {
	var post posteriorFlags
	cmd, f := newCommand("inspect", "layers, sizes and spread of a posterior", inspectAbout, 1)
	post.add(f)
	asJSON := f.Bool("json", false, jsonUsage)
	check := f.Bool("check", false, "say how the network compares with the reference logits of the file")
	return does(cmd, func(_ context.Context, stdout, stderr io.Writer) error {
		p, err := post.read(f.Arg(0))
		if err != nil {
			return err
		}
		var compared *inspectedCheck
		if *check {
			if compared, err = comparedWith(p); err != nil {
				return err
			}
		}
		doubts := certify.Doubts(p)
		if *asJSON {
			fields := inspectFields(p)
			fields.Check, fields.Warnings = compared, []string{}
			for _, n := range doubts {
				fields.Warnings = append(fields.Warnings, n.String())
			}
			return printJSON(stdout, fields)
		}
		if err := inspect(p, stdout); err != nil {
			return err
		}
		if *check {
			compared.print(stdout)
		}
		for _, n := range doubts {
			printWrapped(stdout, "warning: "+plain(n.String()))
		}
		return nil
	})
}

// comparedWith returns what a file's references were compared with. That it was read says that they
// fit.
func comparedWith(p *posterior.Posterior) (*inspectedCheck, error) {
	c, err := audit.Compare(p)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", p.Source.Path, err)
	}
	out := &inspectedCheck{References: c.References, Compared: c.Compared, Largest: c.Largest, Tolerance: c.Tolerance, Spreads: c.Spreads}
	switch {
	case c.Coarse:
		out.Arithmetic = "TF32"
	case c.References > 0:
		out.Arithmetic = "float32"
	}
	return out, nil
}

func (c *inspectedCheck) print(w io.Writer) {
	if c.References == 0 && c.Spreads == 0 {
		fmt.Fprintln(w, "check: no references in this file: psafe exporter writes them (docs/files.md)")
	}
	if c.References > 0 {
		printWrapped(w, "check: "+c.logits())
	}
	if c.Spreads > 0 {
		fmt.Fprintf(w, "check: %d means of standard deviations compared: they agree\n", c.Spreads)
	}
}

// logits tells how the reference logits compare.
func (c *inspectedCheck) logits() string {
	return fmt.Sprintf("%d of %d reference inputs compared: logits differ by %.3g at most, the tolerance there is %.3g, of %s", c.Compared, c.References, c.Largest, c.Tolerance, c.Arithmetic)
}

// sourceWords names what feeds a layer: layers by their numbers, -1 being the input.
func sourceWords(feed []int) string {
	var words []string
	for _, s := range feed {
		word := strconv.Itoa(s)
		if s < 0 {
			word = "the input"
		}
		words = append(words, word)
	}
	return strings.Join(words, " and ")
}

// weightsOf counts weights and biases, without the zeros of layers that have no bias.
func weightsOf(p *posterior.Posterior) int {
	n := p.Weights()
	for k := range p.Layers {
		if l := &p.Layers[k]; l.NoBias {
			n -= l.Biases()
		}
	}
	return n
}

func inspect(p *posterior.Posterior, w io.Writer) error {
	what := fmt.Sprintf("scale %s", p.ScaleList())
	switch p.Kind {
	case posterior.KindFinite, posterior.KindDropout, posterior.KindCorrelated, posterior.KindJoint:
		what = p.Describe()
	case posterior.KindSWAG:
		what = p.Describe() + ", " + what
	}
	printWrapped(w, fmt.Sprintf("%s: %s, %s", plain(p.Source.Path), p.Source.Format, what))
	fmt.Fprintf(w, "sha256 %s\n", p.Source.SHA256)
	if p.Source.Note != "" {
		printWrapped(w, "note: "+plain(p.Source.Note))
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(t, "layer\tshape\tactivation\tweights\tsigma min\tmedian\tmax\t")
	room := widthOf(w)
	if room < math.MaxInt {
		room = shapeColumns
	}
	random, net := 0, p.Network()
	for k, spread := range p.SpreadSummary() {
		l := &p.Layers[k]
		row := func(shape string, s posterior.Spread) {
			q := s.Quantiles
			lines := wrapped(shape, "", room)
			if s.N == 0 {
				fmt.Fprintf(t, "%d\t%s\t%v\t\t\t\t\t\n", k, lines[0], l.Activation)
			} else {
				fmt.Fprintf(t, "%d\t%s\t%v\t%d\t%.3g\t%.3g\t%.3g\t\n", k, lines[0], l.Activation, s.N, q[0], q[2], q[4])
			}
			for _, line := range lines[1:] {
				fmt.Fprintf(t, "\t%s\t\t\t\t\t\t\n", line)
			}
			random += s.Random
		}
		shape := network.Describe(l.Map)
		if feed := net.Feed(k); len(feed) > 1 || feed[0] != k-1 {
			shape += ", from " + sourceWords(feed)
		}
		row(shape, spread.Weight)
		if l.Biases() == 0 {
			continue
		}
		if l.NoBias { // zeros that stand for none
			row("no bias", posterior.Spread{})
			continue
		}
		row(fmt.Sprintf("bias %d", l.Biases()), spread.Bias)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintf(w, "%d weights, %d of them random\n", weightsOf(p), random)
	if of := p.Input.FeaturesOf; of != "" {
		printWrapped(w, "inputs are features of: "+plain(of))
	}
	if s := p.Finite(); s != nil {
		fmt.Fprintf(w, "%d samples, counts from %d to %d, %d together\n", s.N(), slices.Min(s.Counts), slices.Max(s.Counts), s.Total())
		if s.DrawsOf != "" {
			printWrapped(w, "independent draws of: "+plain(s.DrawsOf))
		}
	}
	if random > 0 && p.Independent() {
		printWrapped(w, fmt.Sprintf("a weight box of %.3f standard deviations to each side of the mean has 0.9 of the probability", probability.GammaForMassApprox(0.9, random)))
	}
	return nil
}

// shapeColumns is the room for the shape of a layer in the table on a terminal, which has 80 columns then.
const shapeColumns = 21

// printWrapped prints a text, on a terminal wrapped at words.
func printWrapped(w io.Writer, text string) {
	fmt.Fprintln(w, strings.Join(wrapped(text, "  ", widthOf(w)), "\n"))
}

// inspected is psafe inspect --json.
type inspected struct {
	Posterior   string           `json:"posterior"`
	Format      string           `json:"format"`
	Kind        string           `json:"kind"`
	Description string           `json:"description"`
	Scale       string           `json:"scale"`
	SHA256      string           `json:"sha256"`
	Note        string           `json:"note,omitempty"`
	Layers      []inspectedLayer `json:"layers"`
	Weights     int              `json:"weights"`
	Random      int              `json:"random"`
	Samples     *inspectedSample `json:"samples,omitempty"`
	// Gamma is no bound.
	Gamma *float64 `json:"gamma_for_mass_0.9_approx,omitempty"`
	// Check is there with --check, and says what was compared when the file was read.
	Check    *inspectedCheck `json:"check,omitempty"`
	Warnings []string        `json:"warnings"`
}

type inspectedCheck struct {
	References int     `json:"references"`
	Compared   int     `json:"compared"`
	Largest    float64 `json:"largest_difference"`
	Tolerance  float64 `json:"tolerance"`
	Arithmetic string  `json:"arithmetic,omitempty"`
	Spreads    int     `json:"spreads"`
}

type inspectedLayer struct {
	Inputs  int `json:"inputs"`
	Outputs int `json:"outputs"`
	// Map says in words what a layer that is not dense does; From is there where it is not
	// fed by the layer before alone.
	Map        string          `json:"map,omitempty"`
	From       []int           `json:"from,omitempty"`
	Activation string          `json:"activation"`
	Weight     inspectedSpread `json:"weight"`
	Bias       inspectedSpread `json:"bias"`
}

// inspectedSpread has quantiles of standard deviations: least, 1/4, median, 3/4, largest.
type inspectedSpread struct {
	Number int        `json:"number"`
	Random int        `json:"random"`
	Sigma  [5]float64 `json:"sigma"`
}

type inspectedSample struct {
	Number int `json:"number"`
	Least  int `json:"least_count"`
	Most   int `json:"most_count"`
	Total  int `json:"total_count"`
}

func inspectFields(p *posterior.Posterior) inspected {
	out := inspected{
		Posterior: p.Source.Path, Format: p.Source.Format, Kind: p.Kind.String(), Description: p.Describe(), Scale: p.Scale.String(),
		SHA256: p.Source.SHA256, Note: p.Source.Note, Weights: weightsOf(p),
	}
	net := p.Network()
	for k, s := range p.SpreadSummary() {
		l := &p.Layers[k]
		spread := func(s posterior.Spread) inspectedSpread {
			out.Random += s.Random
			if s.N == 0 {
				return inspectedSpread{}
			}
			return inspectedSpread{s.N, s.Random, s.Quantiles}
		}
		layer := inspectedLayer{Inputs: l.Inputs(), Outputs: l.Outputs(), Activation: l.Activation.String(), Weight: spread(s.Weight), Bias: spread(s.Bias)}
		if _, dense := l.Map.(network.Dense); !dense {
			layer.Map = network.Describe(l.Map)
		}
		if feed := net.Feed(k); len(feed) > 1 || feed[0] != k-1 {
			layer.From = feed
		}
		out.Layers = append(out.Layers, layer)
	}
	if s := p.Finite(); s != nil {
		out.Samples = &inspectedSample{s.N(), int(slices.Min(s.Counts)), int(slices.Max(s.Counts)), int(s.Total())}
	}
	if out.Random > 0 && p.Independent() {
		out.Gamma = finiteOrNull(probability.GammaForMassApprox(0.9, out.Random))
	}
	return out
}
