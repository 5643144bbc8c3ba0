package sums

import (
	"math"
	"sync"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// Expectations over a standard normal Z of functions that are known at a few nodes
// (doc.go): a function that is convex between the nodes z_k is at most its
// interpolation, so that its mean is at most sum_k E(hat_k(Z)) times its value at z_k, where hat_k
// is 1 at z_k, 0 at the other nodes and linear between them.

// hats are nodes, upper bounds of the means of their hats, the wider of the two intervals beside
// each node, and an upper bound of the probability that Z is beyond the last node.
type hats struct {
	z, mass, gap []float64
	lost         float64
}

// hatReach is the end of the nodes.
const hatReach = 5.5

// hatSteps are the distances of nodes that there are, from 0 to 3; further out they are twice as
// far from each other.
var hatSteps = []float64{2, 1, 0.5, 0.25, 0.125}

// hatsOf are the hats of each step, computed at the first use.
var hatsOf = sync.OnceValue(func() map[float64]*hats {
	all := map[float64]*hats{}
	for _, step := range hatSteps {
		all[step] = newHats(step)
	}
	return all
})

func newHats(step float64) *hats {
	nodes := []float64{0}
	for z := 0.; z < hatReach; {
		next := z + step
		if z >= 3 {
			next = z + 2*step
		}
		z = min(next, hatReach)
		nodes = append(nodes, z)
	}
	n := len(nodes)
	mass, gap := make([]float64, n), make([]float64, n)
	for k := range n - 1 {
		p, q := nodes[k], nodes[k+1]
		falling, rising := towardsUp(p, q)
		mass[k], mass[k+1] = arith.SumUp(mass[k], falling), arith.SumUp(mass[k+1], rising)
		gap[k], gap[k+1] = max(gap[k], q-p), q-p
	}
	h := &hats{lost: 2 * gauss.TailOfUp(arith.DDOf(hatReach))}
	for k := 1 - n; k < n; k++ {
		i, sign := k, 1.
		if k < 0 {
			i, sign = -k, -1
		}
		m := mass[i]
		if k == 0 {
			m *= 2 // the other half is the mirror image
		}
		h.z, h.mass, h.gap = append(h.z, sign*nodes[i]), append(h.mass, m), append(h.gap, gap[i])
	}
	return h
}

// towardsUp bounds from above, for 0 <= p < q, the means over p < Z < q of the lines that fall from 1
// at p to 0 at q, and that rise from 0 to 1:
//
//	(q M - D)/(q - p) and (D - p M)/(q - p),  M = Q(p) - Q(q),  D = phi(p) - phi(q)
//
// Tails and densities are within 2^-58 of themselves, and fall, so that what is divided by q - p,
// which is exact, is wrong by less than 2^-56 (q Q(p) + phi(p)).
func towardsUp(p, q float64) (falling, rising float64) {
	value := func(m arith.DD, k int) arith.DD { return m.Scaled(k) }
	tailP, densityP := value(gauss.TailOf(arith.DDOf(p))), value(gauss.DensityOf(arith.DDOf(p)))
	mass := tailP.Minus(value(gauss.TailOf(arith.DDOf(q))))
	diff := densityP.Minus(value(gauss.DensityOf(arith.DDOf(q))))
	off := 0x1p-56 * (q*tailP.Hi + densityP.Hi)
	bound := func(x arith.DD) float64 { return max(0, arith.Up(arith.Up(arith.Up(x.Hi+x.Lo)+off)/(q-p))) }
	return bound(mass.Times(arith.DDOf(q)).Minus(diff)), bound(diff.Minus(mass.Times(arith.DDOf(p))))
}

const (
	// curveStep is the distance of the entries of a tailCurve, which end at -curveReach and
	// curveReach.
	curveStep  = 1. / 256
	curveReach = 9
)

// tailCurves are two functions at multiples of curveStep: an upper bound of Q(y) = Prob(Z > y), and
// of the greatest second derivative of -Q on [y, inf), which is |y| phi(y) for y in [-1, 0], 0 above
// and the maximum 0.24197.. below.
var tailCurves = sync.OnceValue(func() *struct{ q, bend []float64 } {
	c := &struct{ q, bend []float64 }{}
	for k := range int(2*curveReach/curveStep) + 1 {
		y := float64(k)*curveStep - curveReach
		c.q = append(c.q, gauss.TailOfUp(arith.DDOf(y)))
		at, bend := max(y, -1), 0.
		if at < 0 {
			bend = arith.Up(-at * gauss.DensityOfUp(at))
		}
		c.bend = append(c.bend, bend)
	}
	return c
})

// onCurve is the value at y of a curve that falls: that of the entry below y, first for what is
// below all, and for NaN.
func onCurve(curve []float64, y, first float64) float64 {
	if !(y > -curveReach) {
		return first
	}
	// Rounding may reach an entry that is above y by less than 2^-40, which the users' errors
	// allow for.
	return curve[int(min((y+curveReach)*(1/curveStep), 2*curveReach/curveStep))]
}

// hatsFor are the widest ones of which a function with that slope moves by less than 0.3 from
// node to node, but none with a step below least.
func hatsFor(slope, least float64) *hats {
	all := hatsOf()
	for _, step := range hatSteps {
		if step*slope <= 0.3 {
			return all[max(step, least)]
		}
	}
	if math.IsNaN(slope) {
		return all[hatSteps[0]]
	}
	return all[max(hatSteps[len(hatSteps)-1], least)]
}
