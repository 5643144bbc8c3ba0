package main

import (
	"bytes"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"psafe/host/read/property"
	"psafe/host/record"
	"psafe/host/tell/conformal"
)

const conformalAbout = `psafe conformal makes prediction sets of result files of --target decision: sets
of classes that hold the true class of a new point with probability 1 - alpha -
delta, whoever moves the point within T, and however wrong the posterior is.
The points of --calibration, certified at --eps 0 with their labels and the
--clip of the new ones, say how large sets have to be (docs/decisions.md).

  psafe certify --posterior net.npz --inputs cal.npy --label cal-labels.npy \
    --eps 0 --target decision --draws 1000 --out cal.jsonl
  psafe certify --posterior net.npz --inputs new.npy --eps 0,0.01 \
    --target decision --out new.jsonl
  psafe conformal new.jsonl --calibration cal.jsonl \
    --calibration-label cal-labels.npy --alpha 0.1 --out sets.csv

Calibration and new points have to be exchangeable: of one source, chosen alike.`

// conformalFlags are all flags of conformal as typed.
type conformalFlags struct {
	calibration []string
	labels      string
	truth       string
	alpha       string
	delta       string
	json        bool
	out         outFlags
}

func conformalCommand() *cobra.Command {
	var c conformalFlags
	cmd, f := newCommand("conformal", "prediction sets that hold the true class under attack", conformalAbout, anyNumber)
	f.StringSliceVar(&c.calibration, "calibration", nil, "result files of the calibration points; required")
	f.StringVar(&c.labels, "calibration-label", "", "label file of their data; required")
	f.StringVar(&c.alpha, "alpha", "0.1", "how often a set may miss the true class")
	f.StringVar(&c.delta, "delta", "0.01", "how often, over the drawn networks of --draws, calibration may err")
	f.StringVar(&c.truth, "label", "", "label file of the new points, to count how often sets hold the class")
	f.BoolVar(&c.json, "json", false, "one JSON object on one line, in place of the text")
	c.out.add(f, "CSV file of the sets")
	return does(cmd, func(ctx context.Context, stdout, _ io.Writer) error {
		if f.NArg() == 0 {
			return errors.New("conformal: no result file of new points: psafe conformal new.jsonl --calibration cal.jsonl --calibration-label labels.npy")
		}
		return c.run(ctx, f.Args(), stdout)
	})
}

func (c *conformalFlags) run(ctx context.Context, files []string, stdout io.Writer) error {
	if c.out.path != "" {
		if err := c.out.refuse(append(files, c.calibration...)...); err != nil {
			return err
		}
	}
	cal, q, err := c.calibrate(ctx)
	if err != nil {
		return err
	}
	sets := &conformal.Sets{Calibration: cal, Quantile: q}
	if c.truth != "" {
		if sets.Labels, err = property.ReadLabels(c.truth); err != nil {
			return fmt.Errorf("--label %w", err)
		}
	}
	lines := &bytes.Buffer{}
	table := csv.NewWriter(lines) // a radius for each input has commas
	if err := table.Write([]string{"index", "eps", "size", "classes", "label"}); err != nil {
		return err
	}
	err = eachResult(ctx, files, func(p record.Placed) error {
		s, err := sets.Add(&p)
		if err != nil {
			return err
		}
		var words []string
		for _, k := range s.Classes {
			words = append(words, strconv.Itoa(k))
		}
		label := ""
		if s.Label >= 0 {
			label = strconv.Itoa(s.Label)
		}
		return table.Write([]string{strconv.Itoa(s.Index), s.Eps, strconv.Itoa(len(s.Classes)), strings.Join(words, " "), label})
	})
	if table.Flush(); err != nil {
		return err
	}
	if c.out.path != "" {
		if err := c.out.write(lines.Bytes(), files...); err != nil {
			return err
		}
	}
	if c.json {
		return printJSON(stdout, struct {
			Calibration int                `json:"calibration"`
			Quantile    float64            `json:"quantile_approx"`
			Promise     float64            `json:"promise_approx"`
			Full        bool               `json:"full"`
			Groups      []*conformal.Group `json:"groups"`
		}{q.Points, approx(q.Q), approx(q.Promise), full(q), sets.Groups})
	}
	return c.print(stdout, q, sets.Groups)
}

// calibrate reads the calibration points.
func (c *conformalFlags) calibrate(ctx context.Context) (*conformal.Calibration, *conformal.Quantile, error) {
	if len(c.calibration) == 0 || c.labels == "" {
		return nil, nil, errors.New("conformal: --calibration or --calibration-label is missing: name result files of calibration points and the label file of their data")
	}
	cal := &conformal.Calibration{}
	for _, of := range []struct {
		flag, text string
		is         *property.Exact
	}{{"alpha", c.alpha, &cal.Alpha}, {"delta", c.delta, &cal.Delta}} {
		x, err := property.NewExact(of.text)
		if err != nil || x.Rat().Sign() <= 0 || x.Rat().Cmp(big.NewRat(1, 1)) >= 0 {
			return nil, nil, fmt.Errorf("--%s %.40q is no probability between 0 and 1", of.flag, of.text)
		}
		*of.is = x
	}
	var err error
	if cal.Labels, err = property.ReadLabels(c.labels); err != nil {
		return nil, nil, fmt.Errorf("--calibration-label %w", err)
	}
	if err := eachResult(ctx, c.calibration, func(p record.Placed) error { return cal.Add(&p) }); err != nil {
		return nil, nil, err
	}
	q, err := cal.Quantile()
	if err != nil {
		return nil, nil, fmt.Errorf("--calibration: %w", err)
	}
	return cal, q, nil
}

func approx(x *big.Rat) float64 {
	f, _ := x.Float64()
	return f
}

// full reports whether every set holds every class.
func full(q *conformal.Quantile) bool { return q.Q.Cmp(big.NewRat(1, 1)) >= 0 }

func (c *conformalFlags) print(w io.Writer, q *conformal.Quantile, groups []*conformal.Group) error {
	text := &bytes.Buffer{}
	fmt.Fprintf(text, "%d calibration points; a set holds the classes k with class_upper >= %.4g\n", q.Points, 1-approx(q.Q))
	of := "calibration points and the new point"
	if q.Drawn {
		of = "calibration points, drawn networks and the new point"
	}
	fmt.Fprintf(text, "with probability >= %s over %s, a set holds the true class for all of T\n", percentDown(q.Promise), of)
	switch {
	case q.Rank > q.Points:
		fmt.Fprintf(text, "all sets are full: for --alpha %s at least %v calibration points are needed\n", c.alpha, q.Enough)
	case full(q):
		fmt.Fprintf(text, "all sets are full: %d or more calibration points have nothing proved of their class; try a larger --alpha, or more --draws\n", q.Points-q.Rank+1)
	}
	fmt.Fprintf(text, "\n%-10s %8s %10s %11s %6s %s\n", "radius", "points", "mean size", "singletons", "full", "holds the class")
	for _, g := range groups {
		eps := g.Eps
		if g.Norm != "" {
			eps += " (norm " + g.Norm + ")"
		}
		covered := "-"
		if g.Labelled > 0 {
			covered = fmt.Sprintf("%d of %d", g.Covered, g.Labelled)
		}
		fmt.Fprintf(text, "%-10s %8d %10.3f %11d %6d %s\n", eps, g.Points, float64(g.Classes)/float64(g.Points), g.Singletons, g.Full, covered)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// percentDown is a probability in decimals, rounded down; not below 0.
func percentDown(p *big.Rat) string {
	if p.Sign() <= 0 {
		return "0"
	}
	scaled := new(big.Int).Quo(new(big.Int).Mul(p.Num(), big.NewInt(10000)), p.Denom())
	text := strings.TrimRight(new(big.Rat).SetFrac(scaled, big.NewInt(10000)).FloatString(4), "0")
	return strings.TrimSuffix(text, ".")
}
