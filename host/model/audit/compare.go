// Package audit finds signs that a posterior was misread. Nothing in a file of numbers shows that a
// matrix was transposed, that variances were taken for standard deviations or that the framework
// divided pixels by 255; a certificate of such a posterior is proved and worthless. Compare
// evaluates the network on the reference inputs that a file carries and compares with the logits
// that the framework itself computed; if they differ, it tries the usual mistakes and names the one
// that fits. Doubts says what is improbable where there is nothing to compare with.
//
// Everything here is ordinary float64 and proves nothing; none of it flows into a bound.
package audit

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"psafe/host/model/network"
	"psafe/host/model/posterior"
)

// The arithmetic that reference logits may have been computed in. A float32 is off by 2^-24
// relatively; 32 times that for the sum of a layer allows for any order of a thousand terms
// or so and for tanh by a fast approximation. A product of TF32, in which some libraries
// multiply matrices unless they are told not to, is off by about 2^-12; eight times that.
var (
	single = network.Rounding{Sum: 0x1p-19}
	tf32   = network.Rounding{Sum: 0x1p-19, Term: 0x1p-9}
)

const (
	// most of the root mean square of the reference logits is what no tolerance exceeds:
	// what differs by more than that is another function.
	most = 1.0 / 64
	// maxWork is how many weights a comparison meets at most, each for one evaluation and its
	// tolerance, and maxTried how many the search for what would fit does: about two seconds
	// of time, or three.
	maxWork, maxTried = 1 << 29, 1 << 31
)

// Comparison describes how the network compares with the reference logits.
type Comparison struct {
	// References is how many the file has, Compared how many were evaluated: all, unless
	// that would take long.
	References, Compared int
	// Largest is the largest difference of a logit, in proportion to Tolerance there: it
	// belongs to logit Output of reference Input, which is Got here and Want in the file.
	Largest, Tolerance float64
	Input, Output      int
	Got, Want          float64
	// Coarse reports whether float32 does not explain the differences, but TF32 does.
	Coarse bool
	// Spreads is how many numbers of reference.spread were compared.
	Spreads int
}

// Mismatch reports that a file's references contradict its other numbers. Fits is what would fit
// instead, empty if nothing that was tried does.
type Mismatch struct {
	What, Fits string
}

func (m *Mismatch) Error() string {
	if m.Fits == "" {
		return m.What + ": none of the usual mistakes explains it; write the file again from the network that it is of"
	}
	return m.What + ": " + m.Fits
}

// Compare evaluates ReferenceNetwork on p's reference inputs, after Input's mean and
// standard deviation, and compares logits, and the means of the standard deviations with
// reference.spread. p must be valid. Logits may differ by an estimate of the rounding of
// the program that computed them (network.RoundingApprox with Rounding single, or else tf32
// if none of the usual mistakes fits better), at most 1/64 of the root mean square of all
// reference logits. The error is a *Mismatch. A file without references has nothing to
// compare: References and Spreads are 0.
func Compare(p *posterior.Posterior) (*Comparison, error) {
	c := &Comparison{}
	if p.Reference == nil {
		return c, nil
	}
	if c.References = p.References(); c.References > 0 {
		if err := compareLogits(p, c); err != nil {
			return c, err
		}
	}
	return c, compareSpread(p, c)
}

// compareLogits is Compare without reference.spread.
func compareLogits(p *posterior.Posterior, c *Comparison) error {
	c.Compared = min(c.References, max(1, maxWork/p.Network().Work()))
	as := asRead(p)
	if as.compare(p, c, single, c.Compared) <= 1 {
		return nil
	}
	differs := *c
	c.Coarse = as.compare(p, c, tf32, c.Compared) <= 1
	// A mistake that fits as float32 is what was meant, even where TF32 explains the file.
	words := (&search{p: p, left: maxTried}).run(c.Coarse)
	if c.Coarse && words == "" {
		return nil
	}
	what := fmt.Sprintf("reference.logits: logit %d of reference %d is %.7g, the network as it is read gives %.7g", differs.Output, differs.Input, differs.Want, differs.Got)
	return &Mismatch{what, words}
}

// trial is a way to evaluate the reference inputs: as the file says, or with a mistake.
type trial struct {
	net     network.Network
	weights [][]float64
	// input makes of raw data what the first layer takes, and says how far it may be off.
	input func(x []float64) (z, dz []float64)
	// permute, if set, is applied to z and dz.
	permute func([]float64) []float64
	// output, if set, makes of logits and their tolerances what is compared.
	output func(y, dy []float64) (z, dz []float64)

	pass *network.Pass
}

// asRead is the trial of p itself.
func asRead(p *posterior.Posterior) *trial {
	return &trial{net: p.Network(), weights: p.ReferenceNetwork(), input: normalised(&p.Input)}
}

// normalised takes raw data through in, and estimates the rounding of float32 in it.
func normalised(in *posterior.Input) func(x []float64) (z, dz []float64) {
	return func(x []float64) (z, dz []float64) {
		z, dz = in.NormaliseApprox(x), make([]float64, len(x))
		if len(in.Mean) > 0 || len(in.Std) > 0 {
			size := make([]float64, len(x))
			for j, v := range x {
				if size[j] = math.Abs(v); len(in.Mean) > 0 {
					size[j] += math.Abs(in.Mean[j%len(in.Mean)])
				}
			}
			for j, v := range (&posterior.Input{Std: in.Std}).NormaliseApprox(size) {
				dz[j] = 0x1p-22 * v
			}
		}
		return z, dz
	}
}

// forward gives the logits at x, which are the pass's, and how far its input may be off.
func (t *trial) forward(x []float64) (y, dz []float64) {
	if t.pass == nil {
		t.pass = t.net.NewPass(t.weights)
	}
	z, dz := t.input(x)
	if t.permute != nil {
		z, dz = t.permute(z), t.permute(dz)
	}
	return t.pass.Forward(z), dz
}

// finish makes of logits, which may be off by dy, what is compared.
func (t *trial) finish(y, dy []float64) (z, dz []float64) {
	if t.output != nil {
		return t.output(y, dy)
	}
	return y, dy
}

// compare compares the first n references and returns the largest difference in proportion
// to its tolerance, +Inf as soon as one is above it; c says where that is.
func (t *trial) compare(p *posterior.Posterior, c *Comparison, r network.Rounding, n int) (share float64) {
	in, out := p.Inputs(), p.Outputs()
	limit := most * rms(p.Reference.Logits)
	share = -1
	for i := range n {
		x, want := p.Reference.Inputs[i*in:(i+1)*in], p.Reference.Logits[i*out:(i+1)*out]
		logits, dz := t.forward(x)
		y, _ := t.finish(logits, make([]float64, out))
		if k := farthest(y, want); !(math.Abs(y[k]-want[k]) <= limit) { // NaN is far off
			c.Largest, c.Tolerance, c.Input, c.Output, c.Got, c.Want = math.Abs(y[k]-want[k]), limit, i, k, y[k], want[k]
			return math.Inf(1)
		}
		y, dy := t.finish(logits, t.pass.RoundingApprox(r, dz))
		for k, v := range y {
			off, tolerance := math.Abs(v-want[k]), min(dy[k], limit)
			now := off / tolerance
			if off == 0 {
				now = 0
			}
			if now <= share {
				continue
			}
			share = now
			c.Largest, c.Tolerance, c.Input, c.Output, c.Got, c.Want = off, tolerance, i, k, v, want[k]
			if !(share <= 1) { // NaN is far off too
				return math.Inf(1)
			}
		}
	}
	return share
}

// farthest is the place where y and want differ most.
func farthest(y, want []float64) int {
	at := 0
	for k := range y {
		if !(math.Abs(y[k]-want[k]) <= math.Abs(y[at]-want[at])) {
			at = k
		}
	}
	return at
}

func rms(list []float64) float64 { return floats.Norm(list, 2) / math.Sqrt(float64(len(list))) }
