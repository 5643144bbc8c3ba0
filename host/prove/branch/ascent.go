package branch

import (
	"context"
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// ascent raises lower bounds of rows of one network on one box (bound.Splits) over the lower slopes
// and the multipliers that each row has for each neuron: projected gradient ascent with moments
// (Adam). The bounds are the device's and hold whatever comes out here.
//
// At the corner x of the box where the row as it arrives at the inputs is least, and with zeta_j the
// pre-activations there if every neuron below is replaced by the line that the row has used,
//
//	d bound / d Slope_j = s_j zeta_j where s_j >= 0,    d bound / d Beta_j = -Phase_j zeta_j
//
// s_j being the row's coefficient of z_j.
type ascent struct {
	s     *bound.Splits
	net   network.Network
	box   property.Box
	known *ranges
	q     bound.SplitQuery
	// best are the greatest bounds so far.
	best []float64
	// moments are those of Slope or, where there is a phase, Beta.
	first, second [][]float64
	round         int
	// kept are the slopes and multipliers of best, if the task wants a proof; these are numbers that
	// a proof can say then.
	kept *bound.SplitQuery
	// coefficients holds the coefficients of the last bounds, as SplitAnswer.S has them; zeta those of the last
	// gradient, by layer, and rows the values of all property rows there, [rows x R], where there are
	// mixtures.
	coefficients, zeta [][]float64
	rows               []float64
	mixtures           mixtures
	// corner has room for cornerApprox.
	corner []float64
	// tree says which tree each row is of, and ended whether all of that are proved: then the row stays as it is.
	tree  []int
	ended []bool
}

// newAscent begins at LBP's slopes.
func newAscent(p *phased, layer int, rows []int) *ascent {
	r := len(rows)
	a := &ascent{s: p.s, net: p.net, box: p.task.Box, known: &p.known, q: bound.SplitQuery{Layer: layer, Rows: rows}, tree: make([]int, r), ended: make([]bool, r)}
	for l := range layer {
		n := len(p.known.lo[l])
		if !p.known.phases[l] {
			n = 0
		}
		slope := make([]float64, n*r)
		for i := range n {
			v := p.known.usual(l, i)
			for c := range r {
				slope[i*r+c] = v
			}
		}
		a.q.Slope = append(a.q.Slope, slope)
		a.first, a.second = append(a.first, make([]float64, n*r)), append(a.second, make([]float64, n*r))
	}
	if p.proof != nil {
		a.kept = &bound.SplitQuery{}
		for l := range layer {
			a.kept.Slope = append(a.kept.Slope, slices.Clone(a.q.Slope[l]))
		}
	}
	a.best = slices.Repeat([]float64{math.Inf(-1)}, r)
	return a
}

// withPhases makes room for phases and multipliers.
func (a *ascent) withPhases() {
	for l := range a.q.Layer {
		n := len(a.q.Slope[l])
		a.q.Phase, a.q.Beta = append(a.q.Phase, make([]float64, n)), append(a.q.Beta, make([]float64, n))
		if a.kept != nil {
			a.kept.Beta = append(a.kept.Beta, make([]float64, n))
		}
	}
}

// climb asks for bounds, rounds times, with a step between two.
func (a *ascent) climb(rounds int) error {
	for k := range rounds {
		last := k == rounds-1
		if err := a.evaluate(!last); err != nil || last || a.q.Phase != nil && a.proved() {
			return err
		}
		if err := a.step(); err != nil {
			return err
		}
	}
	return nil
}

const (
	ascentRate  = 0.25
	ascentDecay = 0.97
	// momentOne and momentTwo are Adam's.
	momentOne, momentTwo = 0.9, 0.999
)

// evaluate asks for the bounds at the present slopes and multipliers.
func (a *ascent) evaluate(wantRows bool) error {
	a.q.WantRows = wantRows
	answer, err := a.s.Bound(&a.q)
	if err != nil {
		return err
	}
	for c, v := range answer.Bound {
		if a.ended[c] {
			continue
		}
		if v > a.best[c] {
			a.keepMixture(c)
			if a.kept != nil {
				a.keep(c)
			}
		}
		a.best[c] = max(a.best[c], v)
	}
	a.coefficients = answer.S
	return nil
}

// keep keeps the slopes and multipliers of row c.
func (a *ascent) keep(c int) {
	r := len(a.q.Rows)
	for l := range a.q.Layer {
		for i := range a.known.lo[l] {
			if a.known.open(l, i) {
				a.kept.Slope[l][i*r+c] = a.q.Slope[l][i*r+c]
				if a.q.Beta != nil {
					a.kept.Beta[l][i*r+c] = a.q.Beta[l][i*r+c]
				}
			}
		}
	}
}

// forward finds zeta for the last bounds.
func (a *ascent) forward() error {
	a.zeta = a.zeta[:0]
	z, err := a.upwards(a.cornerApprox(), func(l int, zeta []float64) func(i, at int) float64 {
		if a.zeta = append(a.zeta, zeta); l == a.q.Layer-1 && a.q.Theta == nil {
			return nil
		}
		return func(i, at int) float64 { return a.lineApprox(l, i, at) }
	})
	if err == nil && a.q.Theta != nil {
		a.rows, err = a.s.RowsApprox(z, len(a.q.Rows))
	}
	return err
}

// refutedApprox reports whether all rows of a clause are negative at a point and for some biases where
// the last bounds have its mixture least: then no sub-problems prove it for all biases. That is no proof,
// and none rests on it.
func (a *ascent) refutedApprox() (bool, error) {
	z, err := a.upwards(a.cornerApprox(), func(_ int, zeta []float64) func(i, at int) float64 {
		return func(_, at int) float64 { return max(zeta[at], 0) }
	})
	if err != nil {
		return false, err
	}
	rows, err := a.s.RowsApprox(z, len(a.q.Rows))
	for c := range a.q.Rows {
		negative := err == nil
		for _, i := range a.clause(c) {
			negative = negative && rows[i*len(a.q.Rows)+c] < 0
		}
		if negative {
			return true, nil
		}
	}
	return false, err
}

// clause are the rows of the clause that row c of the query is about.
func (a *ascent) clause(c int) []int {
	if a.q.Theta == nil {
		return a.q.Rows[c : c+1]
	}
	return a.mixtures.knots[c].clause
}

// cornerApprox are the corners of the box, a column for each row, where the rows are least as they
// have arrived at the inputs; the next are in the same place.
func (a *ascent) cornerApprox() []float64 {
	r := len(a.q.Rows)
	if a.corner == nil {
		a.corner = make([]float64, len(a.box.Lo)*r)
	}
	x, p := a.corner, a.s.Precision()
	for j := range a.box.Lo {
		// Signs are as good as random, so bits are chosen: that takes no branch.
		lo, hi := math.Float64bits(p.Nearest(a.box.Lo[j])), math.Float64bits(p.Nearest(a.box.Hi[j]))
		to := x[j*r : (j+1)*r]
		for c, v := range a.coefficients[0][j*r:][:len(to)] {
			end := hi
			if v >= 0 {
				end = lo
			}
			to[c] = math.Float64frombits(end)
		}
	}
	return x
}

// upwards takes columns of inputs up to what feeds the layer of the query, [in x R]; through is
// told the pre-activations of each layer and says what becomes of neuron i there, at that place of
// the list, nil if nobody wants to know. Layers without phases have no activation, or are max pools.
func (a *ascent) upwards(x []float64, through func(l int, zeta []float64) func(i, at int) float64) ([]float64, error) {
	r, p := len(a.q.Rows), a.s.Precision()
	outputs := make([][]float64, a.q.Layer)
	for l := range a.q.Layer {
		zeta, err := a.s.ForwardApprox(l, a.into(l, x, outputs), a.overApprox(l), r)
		if err != nil {
			return nil, err
		}
		value := through(l, zeta)
		switch {
		case value == nil:
			return nil, nil
		case !a.known.phases[l]:
			outputs[l] = zeta
			value = func(_, at int) float64 { return a.net[l].Activation.Approx(zeta[at]) }
		default:
			outputs[l] = make([]float64, len(zeta))
		}
		onStrips(len(a.known.lo[l]), len(a.q.Rows), func(i int) {
			for at := i * r; at < (i+1)*r; at++ {
				outputs[l][at] = p.Nearest(finiteOr(value(i, at), 0))
			}
		})
	}
	return a.into(a.q.Layer, x, outputs), nil
}

// into returns what feeds layer k, for columns x of inputs.
func (a *ascent) into(k int, x []float64, outputs [][]float64) []float64 {
	var all [][]float64
	for _, s := range a.net.Feed(k) {
		if s < 0 {
			all = append(all, x)
		} else {
			all = append(all, outputs[s])
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return slices.Concat(all...)
}

// overApprox are the coefficients of the pre-activations of layer l, as far as their signs go,
// where biases are intervals; nil where they are numbers.
func (a *ascent) overApprox(l int) []float64 {
	if a.kept == nil || !a.known.phases[l] {
		return nil
	}
	over := slices.Clone(a.coefficients[l+1])
	for at := range over {
		switch {
		case a.q.Phase == nil || a.q.Phase[l][at] == 0:
		case a.q.Phase[l][at] > 0:
			over[at] -= a.q.Beta[l][at]
		default:
			over[at] = a.q.Beta[l][at]
		}
	}
	return over
}

// lineApprox is the value of the line that a row has used at neuron i of layer l.
func (a *ascent) lineApprox(l, i, at int) float64 {
	t, f := a.zeta[l][at], 0.0
	if a.q.Phase != nil {
		f = a.q.Phase[l][at]
	}
	lo, hi := a.known.lo[l][i], a.known.hi[l][i]
	switch {
	case f > 0 || f == 0 && lo >= 0:
		return t
	case f < 0 || hi <= 0:
		return 0
	case a.coefficients[l+1][at] >= 0:
		return a.q.Slope[l][at] * t
	}
	return hi / (hi - lo) * (t - lo)
}

// step moves slopes and multipliers along the gradient at the last bounds.
func (a *ascent) step() error {
	if err := a.forward(); err != nil {
		return err
	}
	a.round++
	one, two := 1-math.Pow(momentOne, float64(a.round)), 1-math.Pow(momentTwo, float64(a.round))
	rate := ascentRate * math.Pow(ascentDecay, float64(a.round-1))
	adam := func(first, second *float64, g float64) float64 {
		*first = momentOne**first + (1-momentOne)*g
		*second = momentTwo**second + (1-momentTwo)*g*g
		return rate * (*first / one) / (math.Sqrt(*second/two) + 1e-30)
	}
	for c := range a.q.Theta {
		a.moveMixture(c, adam)
	}
	for l := range a.q.Layer {
		scale := a.scales(l)
		onStrips(len(a.known.lo[l]), len(a.q.Rows), func(i int) {
			if a.known.open(l, i) || a.cut(l, i) {
				a.move(l, i, scale, func(at int, g float64) float64 { return adam(&a.first[l][at], &a.second[l][at], g) })
			}
		})
	}
	return nil
}

// cut reports whether a row has a phase of neuron i of layer l.
func (a *ascent) cut(l, i int) bool {
	r := len(a.q.Rows)
	return a.q.Phase != nil && a.known.phases[l] && slices.ContainsFunc(a.q.Phase[l][i*r:(i+1)*r], func(f float64) bool { return f != 0 })
}

// scales returns what multipliers of layer l are measured by: the mean size of the coefficients of
// each row.
func (a *ascent) scales(l int) []float64 {
	if a.q.Phase == nil {
		return nil
	}
	r, all := len(a.q.Rows), a.coefficients[l+1]
	scale := make([]float64, r)
	for at, v := range all {
		scale[at%r] += math.Abs(v) * float64(r) / float64(len(all))
	}
	return scale
}

// move moves the slopes and multipliers at neuron i of layer l by what by makes of a gradient.
func (a *ascent) move(l, i int, scale []float64, by func(at int, gradient float64) float64) {
	r, p := len(a.q.Rows), a.s.Precision()
	for c := range r {
		at := i*r + c
		s, t := a.coefficients[l+1][at], a.zeta[l][at]
		if a.q.Phase != nil && a.q.Phase[l][at] != 0 {
			v := max(a.q.Beta[l][at]+scale[c]*by(at, -a.q.Phase[l][at]*t), 0)
			if a.kept != nil {
				v = ToMultiplier(v)
			}
			a.q.Beta[l][at] = p.Nearest(finiteOr(v, a.q.Beta[l][at]))
			continue
		}
		v := min(max(a.q.Slope[l][at]+by(at, max(s, 0)*t), 0), 1)
		if a.kept != nil {
			v = ToSlope(v)
		}
		a.q.Slope[l][at] = p.Nearest(finiteOr(v, a.q.Slope[l][at]))
	}
}

// finiteOr is v, or the other number where v is none of the device's, because something has
// overflowed: devices take no NaN.
func finiteOr(v, other float64) float64 {
	if math.Abs(v) <= math.MaxFloat32 {
		return v
	}
	return other
}

// onStrips is fault.OnCores in strips of what takes little, for each of r columns.
func onStrips(n, r int, f func(i int)) {
	strip := max(32, 4096/r)
	_ = fault.OnCores(context.Background(), (n+strip-1)/strip, func(k int) {
		for i := k * strip; i < min((k+1)*strip, n); i++ {
			f(i)
		}
	})
}
