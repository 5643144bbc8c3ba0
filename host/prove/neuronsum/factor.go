package neuronsum

import (
	"math"
	"slices"

	"psafe/host/prove/measure"
	"psafe/host/read/property"
)

// factors are the weights a_i of the margin of one row, and a_0.
type factors struct {
	neurons []factor
	// mean and variance are those of a_0.
	mean, variance ival
}

// factor is the distribution of one a_i.
type factor struct {
	mean, sd ival
	// neg and pos cover [least, 0] and [0, most]; lost is the mass outside.
	neg, pos    measure.Bins
	least, most float64
	lost        float64
}

// factors gives the distributions for one row, nil if one is not finite.
//
// a_i = sum_c C_c u_ci is normal with mean sum C mu and variance sum C^2 sd^2 for
// each C in [CLo, CHi] and each sd in [SdLo, SdHi]: both sums in intervals.
func (n *Sum) factors(row property.Row) *factors {
	if len(row.CLo) != n.output.Outputs() || len(row.CHi) != n.output.Outputs() {
		return nil
	}
	f := &factors{neurons: make([]factor, n.hidden.Outputs()), mean: exactly(row.D)}
	w, b := &n.output.Weight, &n.output.Bias
	for c := range row.CLo {
		k := ival{row.CLo[c], row.CHi[c]}
		f.mean = f.mean.plus(k.times(exactly(b.Mean[c])))
		f.variance = f.variance.plus(k.times(ival{b.SdLo[c], b.SdHi[c]}).square())
	}
	if !f.mean.finite() || !f.variance.finite() {
		return nil
	}
	z := quantileGrid(n.q.factors)
	for i := range f.neurons {
		var mean, variance ival
		for c, at := range n.output.Dense().From(i) {
			k := ival{row.CLo[c], row.CHi[c]}
			mean = mean.plus(k.times(exactly(w.Mean[at])))
			variance = variance.plus(k.times(ival{w.SdLo[at], w.SdHi[at]}).square())
		}
		if !mean.finite() || !variance.finite() {
			return nil
		}
		f.neurons[i] = newFactor(mean, variance.sqrt(), z)
	}
	return f
}

func newFactor(mean, sd ival, z []float64) factor {
	f := factor{mean: mean, sd: sd}
	if sd.hi == 0 {
		f.least, f.most = mean.lo, mean.hi
		if mean.lo < 0 {
			f.neg = measure.Bins{Lo: []float64{mean.lo}, Hi: []float64{min(mean.hi, 0)}, P: []float64{1}}
		}
		if mean.hi >= 0 {
			f.pos = measure.Bins{Lo: []float64{max(mean.lo, 0)}, Hi: []float64{mean.hi}, P: []float64{1}}
		}
		return f
	}
	normal := asNormal(mean, sd)
	nodes := nodesOf(mean, sd, z, true)
	p := normal.BinsUp(nodes)
	zero, _ := slices.BinarySearch(nodes, 0)
	zero = min(zero, len(nodes)-1) // 0 is a node unless all are on one side of it
	f.neg = measure.Bins{Lo: nodes[:zero], Hi: nodes[1 : zero+1], P: p[:zero]}
	f.pos = measure.Bins{Lo: nodes[zero : len(nodes)-1], Hi: nodes[zero+1:], P: p[zero:]}
	f.least, f.most = nodes[0], nodes[len(nodes)-1]
	f.lost = beyond(normal, f.least, f.most)
	return f
}

// reach is how many standard deviations of a weight are looked at; what is
// beyond, 6.4e-14 a weight, counts as failure.
const reach = 7.5

// leastLost is the least that a random neuron adds to a bound, a little below what is beyond
// the reach of one weight. Where standard deviations are below the spacing of float64 nothing
// is beyond, and the bound would be finer than psafe check, which cuts distributions
// elsewhere, could prove again.
const leastLost = 0x1p-44

// beyond bounds the probability of what nodes from lo to hi, placed by nodesOf, leave out.
func beyond(normal measure.Normal, lo, hi float64) float64 {
	return max(leastLost, above(normal.BelowUp(lo)+normal.AboveUp(hi)))
}

// quantileGrid returns about n ascending numbers in [-reach, reach], dense where they
// keep the loss of rounding a standard normal variable down to one of them
// small: their density is proportional to the square root of the normal one.
func quantileGrid(n int) []float64 {
	z := []float64{-reach, reach}
	for x := 4.5; x < reach; x += 0.5 {
		z = append(z, -x, x)
	}
	for k := 1; k < n; k++ {
		if x := 2 * math.Erfinv(2*float64(k)/float64(n)-1); math.Abs(x) < 4.5 {
			z = append(z, x)
		}
	}
	slices.Sort(z)
	return z
}

// nodesOf places z around the mean, strictly ascending; zero is put among them
// if it lies inside and is asked for.
func nodesOf(mean, sd ival, z []float64, zero bool) []float64 {
	nodes := make([]float64, 0, len(z)+3)
	for _, x := range z {
		nodes = append(nodes, mean.lo+float64(x*sd.hi))
	}
	// Ends that hold the mean even if sd is below its spacing.
	nodes = append(nodes, below(nodes[0]), above(mean.hi+float64(reach*sd.hi)))
	slices.Sort(nodes)
	if zero && nodes[0] < 0 && nodes[len(nodes)-1] > 0 {
		nodes = append(nodes, 0)
	}
	slices.Sort(nodes)
	return slices.Compact(nodes)
}

// sorted sorts x in place and drops repetitions.
func sorted(x []float64) []float64 {
	slices.Sort(x)
	return slices.Compact(x)
}
