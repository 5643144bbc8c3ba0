package neuronsum

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/prove/neuronsum/law"
	"psafe/host/prove/probability"
	"psafe/host/prove/slack"
	"psafe/host/read/property"
)

// factors are the weights a_i of the margin of one row, and a_0.
type factors struct {
	neurons []factor
	// mean and variance are those of a_0.
	mean, variance arith.Interval
}

// factor is the distribution of one a_i.
type factor struct {
	mean, sd arith.Interval
	// neg and pos cover [least, 0] and [0, most]; lost is the mass outside.
	neg, pos    probability.Bins
	least, most float64
	lost        float64
}

// factors gives the distributions for one row, nil if one is not finite.
func (n *Sum) factors(row property.Row) *factors {
	laws := n.net.Factors(row)
	if laws == nil {
		return nil
	}
	f := &factors{neurons: make([]factor, len(laws.Neurons)), mean: laws.Mean, variance: laws.Variance}
	z := quantileGrid(n.q.factors)
	for i, a := range laws.Neurons {
		f.neurons[i] = newFactor(a.Mean, a.Sd, z)
	}
	return f
}

func newFactor(mean, sd arith.Interval, z []float64) factor {
	f := factor{mean: mean, sd: sd}
	if sd.Hi == 0 {
		f.least, f.most = mean.Lo, mean.Hi
		if mean.Lo < 0 {
			f.neg = probability.Bins{Lo: []float64{mean.Lo}, Hi: []float64{min(mean.Hi, 0)}, P: []float64{1}}
		}
		if mean.Hi >= 0 {
			f.pos = probability.Bins{Lo: []float64{max(mean.Lo, 0)}, Hi: []float64{mean.Hi}, P: []float64{1}}
		}
		return f
	}
	normal := law.Normal(mean, sd)
	nodes := nodesOf(mean, sd, z, true)
	p := normal.BinsUp(nodes)
	zero, _ := slices.BinarySearch(nodes, 0)
	zero = min(zero, len(nodes)-1) // 0 is a node unless all are on one side of it
	f.neg = probability.Bins{Lo: nodes[:zero], Hi: nodes[1 : zero+1], P: p[:zero]}
	f.pos = probability.Bins{Lo: nodes[zero : len(nodes)-1], Hi: nodes[zero+1:], P: p[zero:]}
	f.least, f.most = nodes[0], nodes[len(nodes)-1]
	f.lost = beyond(normal, f.least, f.most)
	return f
}

// beyond bounds the probability of what nodes from lo to hi, placed by nodesOf, leave out.
func beyond(normal gauss.Normal, lo, hi float64) float64 {
	return max(slack.LeastLost, arith.Up(normal.BelowUp(lo)+normal.AboveUp(hi)))
}

// quantileGrid returns about n ascending numbers in [-reach, reach], dense where they
// keep the loss of rounding a standard normal variable down to one of them
// small: their density is proportional to the square root of the normal one.
func quantileGrid(n int) []float64 {
	z := []float64{-law.Reach, law.Reach}
	for x := 4.5; x < law.Reach; x += 0.5 {
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
func nodesOf(mean, sd arith.Interval, z []float64, zero bool) []float64 {
	nodes := make([]float64, 0, len(z)+3)
	for _, x := range z {
		nodes = append(nodes, mean.Lo+float64(x*sd.Hi))
	}
	// Ends that hold the mean even if sd is below its spacing.
	nodes = append(nodes, arith.Down(nodes[0]), arith.Up(mean.Hi+float64(law.Reach*sd.Hi)))
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
