package certify

import (
	"cmp"
	"context"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/measure"
	"psafe/host/posterior"
	"psafe/host/property"
)

// piece is a weight box that came from cutting a wider one.
type piece struct {
	box bound.Explicit
	// massApprox orders the work; it is no bound.
	massApprox float64
}

// splitBatch is how many pieces are cut at a time.
const splitBatch = 16

// split tries to prove more than the one box of r: it starts with a wider box
// around the mean, which did not verify, and cuts it, always the likeliest piece
// that is not proved, at the weight whose interval moves the margin most. Pieces
// of one box share at most faces, which have probability 0 (only weights with
// sd > 0 are cut), so the masses of proved pieces add up (theory (7)). The sum
// replaces the result of r if it is larger.
func (e *Engine) split(ctx context.Context, cfg Config, r *Result) error {
	root, err := e.widestBox()
	if err != nil {
		return err
	}
	open := []piece{{root, 0}}
	var logs []float64
	for cuts := 0; cuts < cfg.Splits && len(open) > 0; {
		slices.SortStableFunc(open, func(a, b piece) int { return cmp.Compare(b.massApprox, a.massApprox) })
		n := min(len(open), splitBatch, cfg.Splits-cuts)
		var children []piece
		for _, p := range open[:n] {
			children = append(children, e.cut(r.Task, p)...)
		}
		cuts += n
		rest, proved, err := e.tryPieces(ctx, cfg.Method, r, children)
		if err != nil {
			return err
		}
		open = append(slices.Clone(open[n:]), rest...)
		logs = append(logs, proved...)
	}
	if len(logs) == 0 {
		return nil
	}
	if sum := measure.DisjointSumLogDown(logs); sum > r.LogP {
		r.LogP, r.SafeBoxes, r.Rule = sum, len(logs), "disjoint"
		r.Gamma = nil
	}
	return nil
}

// widestBox is a mean-centred box that holds all but about 1e-6.
func (e *Engine) widestBox() (bound.Explicit, error) {
	g := math.Min(measure.GammaForMassApprox(1-1e-6, max(1, randomWeights(e.post))), e.reach)
	spec := bound.BoxSpec{}
	for _, x := range e.gammas(g) {
		spec.Gamma = append(spec.Gamma, []float64{x})
	}
	return bound.HostBox(e.post, e.dev.Precision(), spec, 0)
}

// tryPieces verifies pieces; it returns those that are left to cut and the
// log-masses of those that are proved.
func (e *Engine) tryPieces(ctx context.Context, method bound.Method, r *Result, pieces []piece) (rest []piece, logs []float64, err error) {
	var probes []*probe
	for i := range pieces {
		probes = append(probes, &probe{task: r.Task, box: &pieces[i].box})
	}
	if err := e.verify(ctx, method, probes, false); err != nil {
		return nil, nil, err
	}
	r.Boxes += len(probes)
	for i, p := range probes {
		mass := e.flat.logMass(pieces[i].box)
		if p.margin >= 0 {
			logs = append(logs, mass)
		} else {
			pieces[i].massApprox = mass
			rest = append(rest, pieces[i])
		}
	}
	return rest, logs, nil
}

// cut halves a piece, by probability, at its most sensitive weight; it returns
// nothing if no weight can be cut.
func (e *Engine) cut(t *property.Task, p piece) []piece {
	array, w := e.mostSensitive(t, &p.box)
	if array < 0 {
		return nil
	}
	layer := e.post.Layers[array/2]
	g := &layer.Weight
	if array%2 == 1 {
		g = &layer.Bias
	}
	lo, hi := p.box.Lo[array][w], p.box.Hi[array][w]
	at := e.dev.Precision().Nearest(medianApprox(lo, hi, g.Mean[w], g.SdHi[w]))
	if !(at > lo && at < hi) {
		return nil
	}
	left, right := p, p
	left.box.Hi = replaced(p.box.Hi, array, w, at)
	right.box.Lo = replaced(p.box.Lo, array, w, at)
	return []piece{left, right}
}

// replaced copies a list of arrays with one entry changed.
func replaced(arrays [][]float64, array, w int, v float64) [][]float64 {
	out := slices.Clone(arrays)
	out[array] = slices.Clone(arrays[array])
	out[array][w] = v
	return out
}

// medianApprox is about where a normal variable's mass in [lo, hi] is halved.
func medianApprox(lo, hi, mean, sd float64) float64 {
	cdf := func(x float64) float64 { return math.Erfc((mean - x) / (sd * math.Sqrt2)) }
	half := (cdf(lo) + cdf(hi)) / 2
	a, b := lo, hi
	for range 60 {
		if m := (a + b) / 2; cdf(m) < half {
			a = m
		} else {
			b = m
		}
	}
	return (a + b) / 2
}

// mostSensitive returns the weight whose interval, to first order, moves the
// least margin most: |dm/dW_ij| times the interval's width, at the centre of the
// piece and of T. It only guides the search.
func (e *Engine) mostSensitive(t *property.Task, box *bound.Explicit) (array, weight int) {
	z, pre := e.centreForward(t, box)
	delta := e.rowGradient(t, pre[len(pre)-1])
	best := 0.0
	array = -1
	for k := len(e.post.Layers) - 1; k >= 0; k-- {
		l := &e.post.Layers[k]
		below := make([]float64, l.In)
		for j := range l.In {
			for i, d := range delta {
				w := j*l.Out + i
				lo, hi := box.Lo[2*k][w], box.Hi[2*k][w]
				if s := math.Abs(d*z[k][j]) * (hi - lo); s > best && l.Weight.SdLo[w] > 0 {
					best, array, weight = s, 2*k, w
				}
				below[j] += d * (lo + hi) / 2
			}
		}
		for i, d := range delta {
			if s := math.Abs(d) * (box.Hi[2*k+1][i] - box.Lo[2*k+1][i]); s > best && l.Bias.SdLo[i] > 0 {
				best, array, weight = s, 2*k+1, i
			}
		}
		if k > 0 {
			delta = below
			for j := range delta {
				delta[j] *= slopeApprox(e.post.Layers[k-1].Activation, pre[k-1][j])
			}
		}
	}
	return array, weight
}

// centreForward evaluates the network at the centre of a weight box and of T's
// first box: the inputs of each layer and its pre-activations.
func (e *Engine) centreForward(t *property.Task, box *bound.Explicit) (z, pre [][]float64) {
	x := make([]float64, e.post.Inputs())
	for j := range x {
		x[j] = (t.T[0].Lo[j] + t.T[0].Hi[j]) / 2
	}
	for k, l := range e.post.Layers {
		y := make([]float64, l.Out)
		for i := range y {
			y[i] = (box.Lo[2*k+1][i] + box.Hi[2*k+1][i]) / 2
		}
		for j, v := range x {
			for i := range y {
				w := j*l.Out + i
				y[i] += v * (box.Lo[2*k][w] + box.Hi[2*k][w]) / 2
			}
		}
		z, pre = append(z, x), append(pre, y)
		x = make([]float64, l.Out)
		for i := range x {
			x[i] = l.Activation.Approx(y[i])
		}
	}
	return z, pre
}

// rowGradient is the row of the best alternative that is least at logits y.
func (e *Engine) rowGradient(t *property.Task, y []float64) []float64 {
	value := make([]float64, len(t.S.Rows))
	for r, row := range t.S.Rows {
		value[r] = row.D
		for i, c := range row.CLo {
			value[r] += c * y[i]
		}
	}
	best, bestRow := math.Inf(-1), 0
	for _, all := range t.S.Any {
		least, at := math.Inf(1), -1
		for _, r := range all {
			if value[r] < least {
				least, at = value[r], r
			}
		}
		if at >= 0 && least > best {
			best, bestRow = least, at
		}
	}
	if len(t.S.Rows) == 0 {
		return make([]float64, len(y))
	}
	return t.S.Rows[bestRow].CLo
}

// slopeApprox is the derivative of an activation at t, with a little for dead
// ReLUs, which a wide box may wake.
func slopeApprox(a posterior.Activation, t float64) float64 {
	switch a.Kind {
	case posterior.ReLU, posterior.LeakyReLU:
		if t > 0 {
			return 1
		}
		return max(a.Slope, 0.1)
	case posterior.Tanh, posterior.Sigmoid:
		h := 1e-4
		return (a.Approx(t+h) - a.Approx(t-h)) / (2 * h)
	}
	return 1
}
