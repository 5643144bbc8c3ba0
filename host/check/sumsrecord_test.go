package check

import (
	"bytes"
	"fmt"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"psafe/host/bound"
	"psafe/host/job/certify"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/prove"
	"psafe/host/read/format"
	"psafe/internal/testscale"
)

// sumsJobs are jobs of sums of neurons.
func sumsJobs(t *testing.T) map[string]*certify.Job {
	sums := certify.Method{By: new(prove.NeuronSum), Cells: new(6)}
	at := func(file, points, eps, property string) *certify.Job {
		j := images(file, 0, eps, sums, bound.Float64)
		j.Tasks = certify.Tasks{Points: certify.Points{Inputs: filepath.Join("testdata", points), Eps: eps, Property: property}}
		return j
	}
	jobs := map[string]*certify.Job{
		"tanh":      at("tiny-2-3-2-tanh.npz", "pairs.csv", "0.05", "keeps_class"),
		"tanh box":  at("tiny-2-3-2-tanh.npz", "pairs.csv", "0", "output_box:[-0.3,0.4],[-0.4,0.3]"),
		"product":   at("two-weights-product.npz", "points.csv", "0.1", "output_box:[-0.4,2]"),
		"one point": at("two-weights-product.npz", "points.csv", "0", "output_box:[-0.3,-0.1]"),
		"glyphs 0":  images("glyphs-64-32-10.npz", 1, "0", sums, bound.Float64),
	}
	if testscale.Deep(t) { // TestSumsTestdata always has one of its properties
		jobs["glyphs eps"] = images("glyphs-64-32-10.npz", 1, "0.001", sums, bound.Float64)
		jobs["cubic"] = file("cubic-128.npz", "cubic-property.json", sums, bound.Float64)
	}
	return jobs
}

// TestCheckSums: every record passes; none passes in which a bound is much better or counts are
// others. What is proved is a little better than what is claimed, so that a bound that is a
// little better is proved too.
func TestCheckSums(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 9))
	lower, upper, forged := 0, 0, 0
	jobs := sumsJobs(t)
	for _, name := range slices.Sorted(maps.Keys(jobs)) { // the same forgeries each time
		j := jobs[name]
		var c Checker
		for i, line := range written(t, j) {
			if v, err := c.Check(t.Context(), line, false); err != nil || v.Refused != nil {
				t.Errorf("%s: line %d: %v %v\n%s", name, i, err, v.Refused, line)
				continue
			}
			if !bytes.Contains(line, []byte(`"p_lower":0,`)) {
				lower++
			}
			if bytes.Contains(line, []byte(`"upper":{"method":"neuronsum"`)) {
				upper++
			}
			for what, bad := range forgeries(t, rng, line, 60, func(what string) bool { return littleBetter(t, what) }) {
				forged++
				if v, err := c.Check(t.Context(), bad, false); err != nil || v.Refused == nil {
					t.Errorf("%s: line %d passes with %s: %v\n%s", name, i, what, err, bad)
				}
			}
		}
	}
	t.Logf("%d records prove a lower bound, %d an upper one; %d forged ones", lower, upper, forged)
	if lower < 8 || upper < 3 || forged < 4 {
		t.Errorf("only %d records prove a lower bound, %d an upper one; %d forged ones", lower, upper, forged)
	}
}

// littleBetter reports whether a forged number may be proved: if the probability of failure (or
// P_safe, from above) is more than half of what it was, or below 10^-5, where the method's floor is
// most of it.
func littleBetter(t *testing.T, what string) bool {
	var field string
	var now, old float64
	if _, err := fmt.Sscanf(strings.Replace(what, " for ", " ", 1), "%s %g %g", &field, &now, &old); err != nil {
		t.Fatalf("%q: %v", what, err)
	}
	switch {
	case field == "cells" || strings.HasSuffix(field, "samples"):
		return false
	case strings.HasSuffix(field, "upper"):
		return old < 1e-5 || now > old/2
	}
	return 1-old < 1e-5 || 1-now > (1-old)/2
}

// TestTinySpreads: standard deviations far below the spacing of float64 leave nothing beyond
// any reach. The bounds of such networks are proved again, too. So are
// those of weights that no lattice multiplies as they are.
func TestTinySpreads(t *testing.T) {
	inf := math.Inf(-1)
	mixed := &posterior.Posterior{Scale: posterior.ScaleLogVariance, Layers: []posterior.Layer{
		{Layer: net.DenseLayer(2, 2, net.Activation{Kind: net.Tanh})}, {Layer: net.DenseLayer(2, 2, net.Activation{})}}}
	for k, of := range [][2][]float64{{{1, 0, -1, 1}, {inf, -720, -720, inf}}, {{0, -1, -1, -1}, {inf, -720, inf, inf}}} {
		mixed.Layers[k].Weight = posterior.NewParams(of[0], of[1], mixed.Scale)
		mixed.Layers[k].Bias = posterior.NewParams([]float64{0, 0}, []float64{inf, inf}, mixed.Scale)
	}
	const hidden = 16
	rng := rand.New(rand.NewPCG(4, 4))
	draw := func(n int) posterior.Params {
		mean := make([]float64, n)
		for i := range mean {
			mean[i] = rng.NormFloat64()
		}
		return posterior.NewParams(mean, slices.Repeat([]float64{-100}, n), posterior.ScaleSoftplus)
	}
	many := &posterior.Posterior{Scale: posterior.ScaleSoftplus, Layers: []posterior.Layer{
		{Layer: net.DenseLayer(2, hidden, net.Activation{Kind: net.Tanh}), Weight: draw(2 * hidden), Bias: draw(hidden)},
		{Layer: net.DenseLayer(hidden, 2, net.Activation{}), Weight: draw(2 * hidden), Bias: draw(2)}}}
	of := func(mean ...float64) posterior.Params {
		return posterior.NewParams(mean, slices.Repeat([]float64{0.02}, len(mean)), posterior.ScaleSD)
	}
	huge := &posterior.Posterior{Scale: posterior.ScaleSD, Layers: []posterior.Layer{
		{Layer: net.DenseLayer(2, 2, net.Activation{}), Weight: of(1, 0.5, -0.3, 1), Bias: of(3, 2)},
		{Layer: net.DenseLayer(2, 2, net.Activation{}), Weight: of(0.4, 1e150, 0.2, 0.3), Bias: of(0.5, -0.1)}}}
	for name, p := range map[string]*posterior.Posterior{"mixed": mixed, "many": many, "huge": huge} {
		dir := t.TempDir()
		file, points := filepath.Join(dir, "net.npz"), filepath.Join(dir, "x.csv")
		var content bytes.Buffer
		if err := format.WriteNPZ(&content, p); err != nil {
			t.Fatal(err)
		}
		for path, text := range map[string][]byte{file: content.Bytes(), points: []byte("-1,0\n-1,-1\n0.3,-0.7\n")} {
			if err := os.WriteFile(path, text, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		tasks := certify.Tasks{Points: certify.Points{Inputs: points, Eps: "0.001", Property: "argmax_is:1"}}
		job := &certify.Job{Posterior: certify.Posterior{Path: file}, Tasks: tasks, Method: certify.Method{By: new(prove.NeuronSum)}, Precision: new(bound.Float64), Version: "test"}
		var c Checker
		for i, line := range written(t, job) {
			v, err := c.Check(t.Context(), line, false)
			if err != nil || v.Refused != nil || !v.Claims {
				t.Errorf("%s: %d: %v %v: %s", name, i, err, v.Refused, line)
			}
		}
	}
}
