package sums

import (
	"math"
	"sort"
	"sync"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
)

// What of a neuron's law at a point is left without the draws in which it is large (doc.go,
// large neurons): of a < 0 and u = t(v), the share
//
//	Prob(t(x) <= tau/|a| given u) = Phi((tau/|a| - E(t(x) given u))/sd)
//
// of their mass. a has moved to an end of its bin and u to one of its own, independently. For the
// argument y of Phi, any y' >= E y and any d >= |y - y'|,
//
//	E Phi(y) <= Phi(y') + d^2/2 max(0, Phi''),   Phi'' at its largest within d of y',
//
// by Taylor's formula; and Phi(y' + d) is a bound too. So all that is needed are bounds of the mean
// of tau/|a| of what has moved to one place, of that of u, and how far they are from them.

// split is the law of t(x) given t(v) = E t(v) + Z sd(t(v)): mean + slope Z, with the deviation sd.
type split struct {
	tau             float64
	mean, slope, sd arith.Interval
	// rough: the deviation is at most sd, and hardly known. The share is at most Phi(y') for all y
	// <= y' < 0 then, and 1 for others.
	rough bool
}

// without are the stand-ins at a point with what is left of them.
func (n *Network) without(l *Large, g *GridPoint, neurons []standIn) []standIn {
	left := append([]standIn(nil), neurons...)
	for i := range left {
		if h := &left[i]; !h.constant && len(h.edge) > 0 {
			h.split = n.splitOf(l, g.at, i)
		}
	}
	return left
}

// splitOf is nil if t(v) is a constant, or nothing is known. The variance of t(x) given t(v) is that
// of y = sum (x_p - k v_p) w_p given t(v), for every k: Var y - Cov(y, t(v))^2/Var t(v). With k near
// Cov(t(x), t(v))/Var t(v) next to nothing is subtracted. The bias is a weight of the input 1.
func (n *Network) splitOf(l *Large, v []float64, i int) *split {
	w, b := &n.hidden.Weight, &n.hidden.Bias
	at := n.hidden.Dense().BiasOf(i)
	variances := []arith.Interval{arith.Of(b.SdLo[at], b.SdHi[at]).Square()}
	x, y := append([]float64{1}, l.At...), append([]float64{1}, v...)
	for _, at := range n.hidden.Dense().Into(i) {
		variances = append(variances, arith.Of(w.SdLo[at], w.SdHi[at]).Square())
	}
	t, other := n.preactivation(i, v), n.preactivation(i, l.At)
	var cov arith.Interval
	for p, s := range variances {
		cov = cov.Plus(s.Times(arith.Exactly(x[p]).Times(arith.Exactly(y[p]))))
	}
	k := cov.Hi / (t.sd.Hi * t.sd.Hi)
	var rest, shared arith.Interval
	for p, s := range variances {
		var off arith.Sum
		off.Plus(x[p])
		off.Add(-k, y[p])
		r := arith.Of(off.Lo(), off.Hi())
		rest = rest.Plus(s.Times(r.Square()))
		shared = shared.Plus(s.Times(r.Times(arith.Exactly(y[p]))))
	}
	part := shared.Over(t.sd)
	rest = rest.Minus(part.Times(part))
	s := &split{tau: l.Above, mean: other.mean, slope: cov.Over(t.sd), sd: arith.Of(max(rest.Lo, 0), rest.Hi).Sqrt()}
	if !(t.sd.Lo > 0 && s.mean.Finite() && s.slope.Finite() && s.sd.Finite()) {
		return nil
	}
	if !(s.sd.Lo > s.sd.Hi*(1-0x1p-30)) {
		s.rough = true
		s.sd = arith.Exactly(max(s.sd.Hi, 0x1p-20*(s.slope.Size()+s.mean.Size()), 0x1p-300))
	}
	return s
}

// moved is a list of bounds of parts of y' above, and how far what they bound is from them.
type moved struct{ at, off []float64 }

func (m *moved) add(at float64, whole arith.Interval) {
	m.at, m.off = append(m.at, at), append(m.off, arith.Up(max(whole.Hi-at, at-whole.Lo)))
}

// shares are the shares that are left of pairs of a negative weight and a value.
type shares struct {
	rough bool
	// weights has upper bounds of the mean of tau/(|a| sd) for each of the knots, values lower bounds
	// of that of E(t(x) given u)/sd for each atom. Infinite: all of it is left.
	weights, values moved
	scratch         []float64
}

// newShares is for the knots of the negative weights a and the atoms of h.
func newShares(s *split, a normalVar, k *knots, h *standIn) *shares {
	c := &shares{rough: s.rough}
	inverse := func(a arith.Interval) arith.Interval { return arith.Exactly(s.tau).Over(a.Times(s.sd).Abs()) }
	b := theWeightBins()
	for i, e := range k.edge {
		whole := inverse(arith.Of(k.lo[i], k.hi[i]))
		at := whole.Hi
		if e >= 0 {
			// 1/|a| is convex: below its chord in both bins.
			here, below, above := inverse(a.bin(b.z[e], b.z[e])), arith.Interval{}, arith.Interval{}
			whole = here
			if e > 0 {
				q := inverse(a.bin(b.z[e-1], b.z[e-1]))
				below, whole.Lo = q.Minus(here).Times(b.below[e]), q.Lo
			}
			if e+1 < len(b.z) {
				next := a.bin(b.z[e+1], b.z[e+1])
				q := inverse(next)
				if above, whole.Hi = q.Minus(here).Times(b.above[e]), q.Hi; !(next.Hi < 0) {
					whole.Hi = arith.Inf // beside the bin of 0, from which nothing moves here
				}
			}
			at = here.Plus(below).Plus(above).Hi
		}
		if !(whole.Hi < 0x1p60 && at < 0x1p60) {
			at, whole = arith.Inf, arith.Of(arith.Inf, arith.Inf)
		}
		c.weights.add(arith.Up(at*(1+0x1p-45)), whole)
	}
	v := theValueBins()
	for _, e := range h.edge {
		if e < 0 {
			c.values.add(-arith.Inf, arith.Of(-arith.Inf, -arith.Inf))
			continue
		}
		given := func(z arith.Interval) arith.Interval { return s.mean.Plus(s.slope.Times(z)).Over(s.sd) }
		at := given(v.mean(e)).Lo
		at -= 0x1p-45 * (1 + math.Abs(at))
		c.values.add(at, given(arith.Of(v.z[max(e-1, 0)], v.z[min(e+1, len(v.z)-1)])))
	}
	return c
}

// until returns where the knots from..to end of which a share is less than 1 beside atom j.
func (c *shares) until(j, from, to int) int {
	if c == nil {
		return from
	}
	v := c.values.at[j]
	return from + sort.Search(to-from, func(k int) bool { return c.weights.at[from+k]-v >= shareReach })
}

// times are the masses p of the knots from..to with the shares that are left beside atom j.
func (c *shares) times(j, from, to int, p []float64) []float64 {
	c.scratch = c.scratch[:0]
	table, v, vOff := theShareTable(), c.values.at[j], c.values.off[j]
	for k := from; k < to; k++ {
		y, d := c.weights.at[k]-v, c.weights.off[k]+vOff
		share := 1.
		if !c.rough {
			share = table.up(y, d)
		} else if y+d < 0 {
			share = table.up(y+d, 0)
		}
		c.scratch = append(c.scratch, p[k]*share)
	}
	return c.scratch
}

const (
	// shareReach is where shares are 1, but for 3e-7, and their table ends.
	shareReach = 5
	// shareCell is the width of the cells of that table, shareOff the greatest d above.
	shareCell = 1. / 2048
	shareOff  = 0.25
)

// shareTable has, for cells of y' from -tableReach to shareReach, the greatest Phi(y'), and half of
// the greatest second derivative of Phi on [0, inf) for y within shareOff of one of them: of -y
// phi(y), which rises to -1 and then falls.
type shareTable struct{ most, bend []float64 }

var theShareTable = sync.OnceValue(func() *shareTable {
	t := &shareTable{}
	for k := range int((tableReach+shareReach)/shareCell) + 1 {
		y := float64(k)*shareCell - tableReach
		// What rounding may take of y' and of products with a share.
		t.most = append(t.most, normalTable().belowUp(y+shareCell*(1+0x1p-20))*(1+0x1p-48))
		from, to := y-shareOff-shareCell, y+shareOff+2*shareCell
		bend := 0.
		if at := min(max(-1, from), to); at < 0 {
			bend = gauss.DensityOfUp(at) * -at / 2 * (1 + 0x1p-48)
		}
		t.bend = append(t.bend, bend)
	}
	return t
})

// up is an upper bound of the mean of Phi(y) where that of y is at most mean and y is within d of it;
// 1 for NaN.
func (t *shareTable) up(mean, d float64) float64 {
	if !(d <= shareOff) {
		mean, d = mean+d*(1+0x1p-40), 0
	}
	if !(mean < shareReach) {
		return 1
	}
	k := int(max(mean+tableReach, 0) * (1 / shareCell))
	return min(1, t.most[k]+t.bend[k]*d*d)
}
