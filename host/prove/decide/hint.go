package decide

import (
	"math"
	"slices"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/host/read/property"
)

// hint holds where a cell that is not proved safe should be cut, and where in it the network may be
// unsafe. Nothing rests on it.
type hint struct {
	// axis is the coordinate to cut.
	axis int
	// corner is the corner where LBP's linear lower bound of the worst row is least.
	corner []float64
}

// lookInputs is up to how many inputs each is moved by itself to find the axis: two evaluations
// for each, which are few beside what LBP takes for one row of each neuron.
const lookInputs = 32

// hintApprox looks at a cell as LBP does, with the ranges of pre-activations that the device has
// found: for each row that is still to be proved, the coefficients A of its linear lower bound
// and the coefficients g with which it meets the neurons. What is between the bound and the truth
// is lost at neurons that may be on both sides of their kink, |g| times the gap between their
// lines each. A cut along axis j makes their ranges narrower by about the share of them that
// moving x_j alone goes through. So
//
//	score_j = sum over rows of ( sum_i |g_i| gap_i |range of zeta_i along j| / (hi_i - lo_i)
//	                             + |d row / d x_j at the centre| width_j / 4 )
//
// and the axis with the greatest is cut. Where there are many inputs only the last term is found.
// lo are the lower bounds of the rows. Ordinary float64 throughout.
func hintApprox(pass *network.Pass, net network.Network, box property.Box, s *property.Safe, lo []float64, in ranges) hint {
	centre := box.CentreApprox()
	h := hint{axis: box.Widest(), corner: slices.Clone(centre)}
	var shares [][][]float64
	if len(centre) <= lookInputs {
		shares = sharesApprox(pass, box, in)
	}
	pass.Forward(centre)
	c, score, least := make([]float64, net.Outputs()), make([]float64, len(centre)), math.Inf(1)
	for _, r := range toProve(s, lo) {
		for i := range c {
			c[i] = s.Rows[r].CLo[i]/2 + s.Rows[r].CHi[i]/2
		}
		for j, g := range pass.Back(c) {
			score[j] += math.Abs(g) * (box.Hi[j] - box.Lo[j]) / 4
		}
		a := pass.BackLines(c, func(k, i int, g float64) float64 {
			slope, gap := linesApprox(net[k].Activation, at(in.lo, k, i), at(in.hi, k, i), g)
			if lost := math.Abs(g) * gap; lost > 0 && lost <= math.MaxFloat64 {
				for j := range shares {
					score[j] += lost * shares[j][k][i]
				}
			}
			return slope
		})
		if lo[r] < least {
			least = lo[r]
			cornerOf(h.corner, a, box)
		}
	}
	most := 0.0
	for j, v := range score {
		if v > most && v <= math.MaxFloat64 {
			h.axis, most = j, v
		}
	}
	return h
}

// toProve lists the rows that are not proved of the alternative that is nearest to a proof.
func toProve(s *property.Safe, lo []float64) (rows []int) {
	missing := make([]float64, len(lo))
	for r, v := range lo {
		missing[r] = max(0, -v)
	}
	best, at, nearest := math.Inf(-1), 0, 0
	s.AlternativeDecides(lo, func(least float64, _ int) {
		if at == 0 || least > best {
			best, nearest = least, at
		}
		at++
	})
	if at == 0 {
		return nil
	}
	return slices.DeleteFunc(s.Under(s.Any[nearest], missing), func(r int) bool { return lo[r] >= 0 })
}

// sharesApprox is, by axis, layer and neuron, which share of a pre-activation's range is gone
// through along the axis through the centre of the box.
func sharesApprox(pass *network.Pass, box property.Box, in ranges) [][][]float64 {
	shares := make([][][]float64, len(box.Lo))
	x := box.CentreApprox()
	for j, mid := range x {
		x[j] = box.Lo[j]
		pass.Forward(x)
		for _, pre := range pass.Pre {
			shares[j] = append(shares[j], slices.Clone(pre))
		}
		x[j] = box.Hi[j]
		pass.Forward(x)
		for k, pre := range pass.Pre {
			for i, t := range pre {
				share := math.Abs(t-shares[j][k][i]) / (at(in.hi, k, i) - at(in.lo, k, i))
				if !(share <= 1) { // no range, or none that is known
					share = 0
				}
				shares[j][k][i] = share
			}
		}
		x[j] = mid
	}
	return shares
}

// linesApprox is about the slope of the line that LBP takes for an activation whose argument is
// in [lo, hi], below it for a coefficient g >= 0 and above it for others, and how far from it the
// activation is at most.
func linesApprox(a network.Activation, lo, hi, g float64) (slope, gap float64) {
	below, kinked := a.Kinked()
	switch {
	case kinked && lo >= 0 || below == 1 && kinked:
		return 1, 0
	case kinked && hi <= 0:
		return below, 0
	case kinked && g >= 0 && hi > -lo:
		return 1, (1 - below) * -lo
	case kinked && g >= 0:
		return below, (1 - below) * hi
	}
	down, up := a.Approx(lo), a.Approx(hi)
	chord := (up - down) / (hi - lo)
	if !(chord >= 0 && chord <= 1) { // a point, or nothing is known
		return a.DerivativeApprox(lo, down), 0
	}
	if kinked {
		return chord, (1 - below) * hi * -lo / (hi - lo)
	}
	for _, t := range []float64{0.25, 0.75} {
		gap = max(gap, math.Abs(a.Approx(lo+t*(hi-lo))-(down+t*(up-down))))
	}
	return chord, 2 * gap
}

// cornerOf writes the corner of a box where a x is least to x, as it was where a is 0.
func cornerOf(x, a []float64, box property.Box) {
	for j, v := range a {
		if v > 0 {
			x[j] = box.Lo[j]
		} else if v < 0 {
			x[j] = box.Hi[j]
		}
	}
}

// ranges hold what a device says of the pre-activations of one item, by layer; nil for layers of
// which it says nothing.
type ranges struct{ lo, hi [][]float64 }

// numbers are all of them.
func (r ranges) numbers() []float64 {
	return append(slices.Concat(r.lo...), slices.Concat(r.hi...)...)
}

// at is that of neuron i of layer k, NaN where nothing is said.
func at(of [][]float64, k, i int) float64 {
	if k >= len(of) || i >= len(of[k]) {
		return math.NaN()
	}
	return of[k][i]
}

// rangesSeen gathers the ranges of a batch of items.
type rangesSeen struct {
	dev    bound.Device
	items  int
	lo, hi [][]float64
}

// hintsOf gathers for a batch of these runs, nil if no hint is wanted.
func hintsOf(dev bound.Device, items int, runs [][]*question) *rangesSeen {
	if !slices.ContainsFunc(runs, func(run []*question) bool { return run[0].of != nil }) {
		return nil
	}
	return &rangesSeen{dev: dev, items: items}
}

// observe is Job.Observe.
func (s *rangesSeen) observe(what string, layer int, a bound.Array) error {
	var to *[][]float64
	switch what {
	case "pre.lo":
		to = &s.lo
	case "pre.hi":
		to = &s.hi
	default:
		return nil
	}
	for len(*to) <= layer {
		*to = append(*to, nil)
	}
	var err error
	(*to)[layer], err = bound.ReadAll(s.dev, a)
	return err
}

// of returns the ranges of one item.
func (s *rangesSeen) of(item int) ranges {
	part := func(of [][]float64) (list [][]float64) {
		for _, all := range of {
			n := len(all) / s.items
			list = append(list, all[item*n:(item+1)*n])
		}
		return list
	}
	return ranges{part(s.lo), part(s.hi)}
}
