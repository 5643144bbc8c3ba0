package sums

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/curves"
	"psafe/host/read/property"
)

// What stands in for the value of a hidden neuron in a cell, and the weights of a row.

// standIn stands in for the value h of one hidden neuron: unless something of probability
// at most lost happens, low is stochastically below and high above what the proof wants
// where the neuron's weight is >= 0 and < 0. constant: h is within `within` of the number
// that value holds, in all draws and everywhere in the cell.
type standIn struct {
	constant  bool
	value     arith.Interval
	within    float64
	low, high atoms
	lost      float64
	// edge says, at points of grids, for each x of high to which edge of theValueBins t(v) moved; -1
	// where it was rounded, or has no slope. split: not all of its mass is left.
	edge  []int
	split *split
}

// face is a cell and how it is looked at: at the vertices of one of its faces, of which the
// other coordinates are the centre's.
type face struct {
	cell   property.Box
	centre []float64
	// flat coordinates vary in the cell but not on the face: they move a pre-activation by
	// a radius at most, which allows for so many standard deviations of a weight, 0 for the
	// others. loose: some of them move it far.
	flat  []float64
	loose bool
	// vertices of the face; if it is the centre alone, nothing is linear on it.
	vertices [][]float64
}

const (
	// mostWide is how many coordinates of a cell may vary on its face.
	mostWide = 6
	// Coordinates that hardly move any pre-activation are always flat.
	narrowReach, wideReach = 12.0, 7.5
)

// beyondReach bounds the probability that a normal variable is so many standard deviations
// from its mean.
var beyondReach = map[float64]float64{
	narrowReach: 2 * gauss.TailOfUp(arith.DDOf(narrowReach)), wideReach: 2 * gauss.TailOfUp(arith.DDOf(wideReach)),
}

// newFace chooses the face; any would do.
func (n *Network) newFace(cell property.Box) *face {
	f := &face{cell: cell}
	for j, lo := range cell.Lo {
		f.centre = append(f.centre, arith.Middle(lo, cell.Hi[j]))
	}
	f.flat = n.narrow(f)
	var wide []int
	for j, lo := range cell.Lo {
		if lo < cell.Hi[j] && f.flat[j] == 0 {
			wide = append(wide, j)
		}
	}
	f.vertices = [][]float64{f.centre}
	if _, kinked := n.act.Kinked(); !kinked || len(wide) > mostWide {
		for _, j := range wide {
			f.flat[j], f.loose = wideReach, true
		}
		return f
	}
	for _, j := range wide {
		var more [][]float64
		for _, v := range f.vertices {
			for _, x := range []float64{cell.Lo[j], cell.Hi[j]} {
				w := append([]float64(nil), v...)
				w[j] = x
				more = append(more, w)
			}
		}
		f.vertices = more
	}
	return f
}

// narrow gives narrowReach to the coordinates that move no pre-activation by more than 2^-19
// of its standard deviation or 2^-43 of its size, 0 to others.
func (n *Network) narrow(f *face) []float64 {
	narrow := make([]float64, len(f.centre))
	for j := range narrow {
		if f.cell.Lo[j] < f.cell.Hi[j] {
			narrow[j] = narrowReach
		}
	}
	w, b := &n.hidden.Weight, &n.hidden.Bias
	for i := range n.hidden.Outputs() {
		at := n.hidden.Dense().BiasOf(i)
		size, variance := math.Abs(b.Mean[at]), b.SdLo[at]*b.SdLo[at]
		for j, at := range n.hidden.Dense().Into(i) {
			x := f.centre[j]
			size += math.Abs(x * w.Mean[at])
			variance += x * x * w.SdLo[at] * w.SdLo[at]
		}
		most := 0x1p-19 * max(math.Sqrt(variance), 0x1p-24*size)
		for j, at := range n.hidden.Dense().Into(i) {
			r := max(f.cell.Hi[j]-f.centre[j], f.centre[j]-f.cell.Lo[j])
			if !(r*(math.Abs(w.Mean[at])+narrowReach*w.SdHi[at]) <= most) {
				narrow[j] = 0
			}
		}
	}
	return narrow
}

// radius bounds |t_i(x) - t_i(x')| for all x of the cell and the x' of the face below it: it
// is at most sum_j r_j |w_ji| over the flat j, unless a weight is beyond the reach, which is
// lost.
func (n *Network) radius(f *face, i int) (radius, lost float64) {
	w := &n.hidden.Weight
	var s arith.Sum
	for j, at := range n.hidden.Dense().Into(i) {
		reach := f.flat[j]
		if reach == 0 {
			continue
		}
		r := max(arith.SumUp(f.cell.Hi[j], -f.centre[j]), arith.SumUp(f.centre[j], -f.cell.Lo[j]))
		s.Add(r, arith.SumUp(math.Abs(w.Mean[at]), arith.ProductUp(reach, w.SdHi[at])))
		if w.SdHi[at] > 0 {
			lost = arith.SumUp(lost, beyondReach[reach])
		}
	}
	if s.N == 0 {
		return 0, 0
	}
	return s.Hi(), lost
}

// preactivation is t_i(x).
func (n *Network) preactivation(i int, x []float64) normalVar {
	var s normalSum
	at := n.hidden.Dense().BiasOf(i)
	b, one := &n.hidden.Bias, arith.Exactly(1)
	s.add(one, b.Mean[at], b.SdLo[at], b.SdHi[at])
	w := &n.hidden.Weight
	for j, at := range n.hidden.Dense().Into(i) {
		s.add(arith.Exactly(x[j]), w.Mean[at], w.SdLo[at], w.SdHi[at])
	}
	return s.normalVar()
}

// atVertex gives the stand-ins of neuron i at a vertex of the face (doc.go):
//
//	high = s(t(v) + radius)
//	low  = L(t(v) - radius),  L(t) = t if t(centre) > 0, else slope t
//
// and low = s(t(v) - radius) where the face is a point.
func (n *Network) atVertex(f *face, v []float64, i int) standIn {
	t := n.preactivation(i, v)
	radius, lost := n.radius(f, i)
	if !t.mean.Finite() || !t.sd.Finite() || !(radius <= math.MaxFloat64) {
		return standIn{lost: 1}
	}
	slope, _ := n.act.Kinked()
	centre := t
	if len(f.vertices) > 1 {
		centre = n.preactivation(i, f.centre)
	}
	if t.sd.Hi == 0 {
		ends := arith.Of(arith.SumDown(t.mean.Lo, -radius), arith.SumUp(t.mean.Hi, radius))
		value := curves.Value(n.act, ends)
		// One sign all over: low is s(t(v)) as well.
		oneSign := centre.sd.Hi == 0 && (centre.mean.Lo > 0 && ends.Lo >= 0 || centre.mean.Hi <= 0 && ends.Hi <= 0)
		if !f.loose && (len(f.vertices) == 1 || slope == 1 || oneSign) {
			if radius == 0 {
				return standIn{constant: true, value: value, lost: lost}
			}
			m := arith.Middle(value.Lo, value.Hi)
			return standIn{constant: true, value: arith.Exactly(m), within: max(arith.SumUp(value.Hi, -m), arith.SumUp(m, -value.Lo)), lost: lost}
		}
	}
	z, mass, more := standardBins(t.sd)
	h := standIn{lost: arith.SumUp(lost, more)}
	positive := n.positive(f, v, i, t, centre)
	place := func(a *atoms, x, p float64) {
		if p < 0x1p-66 {
			h.lost = arith.Up(h.lost + p) // too light to carry along
			return
		}
		a.add(x, p)
	}
	for k, m := range mass {
		x := t.bin(z[k], z[k+1])
		if radius > 0 {
			x = arith.Of(arith.SumDown(x.Lo, -radius), arith.SumUp(x.Hi, radius))
		}
		value := curves.Value(n.act, x)
		place(&h.high, value.Hi, m)
		if len(f.vertices) == 1 || slope == 1 {
			place(&h.low, value.Lo, m)
			continue
		}
		// Of the two values that low may have, the larger one gets its least share.
		shares := positive(z[k], z[k+1])
		share := shares.Hi
		if x.Lo >= 0 {
			share = shares.Lo
		}
		place(&h.low, x.Lo, arith.ProductUp(m, share))
		place(&h.low, arith.ProductDown(slope, x.Lo), arith.ProductUp(m, arith.Up(1-share)))
	}
	return h
}

// standardBins are edges of bins of Z with their masses, and what is lost beyond them; for a
// constant one bin that is a point.
func standardBins(sd arith.Interval) (z, mass []float64, lost float64) {
	if sd.Hi == 0 {
		return []float64{0, 0}, []float64{1}, 0
	}
	table := normalTable()
	return table.edges, table.mass, table.lost
}

// bin encloses mean + z sd for z in [from, to].
func (t normalVar) bin(from, to float64) arith.Interval {
	return t.mean.Plus(t.sd.Times(arith.Of(from, to)))
}

// positive encloses Prob(t(centre) > 0 | t(v) = mean + Z sd) for Z in [from, to]: given Z,
// t(centre) is normal with mean muC + Z Cov/sd and, by Lagrange's identity, the variance
//
//	Var t(c) - Cov^2/sd^2 = sum_(p<q) s_p^2 s_q^2 (c_p v_q - c_q v_p)^2 / sd^2
//
// where nothing cancels; s_p are the weights' standard deviations, and the bias counts as a
// last coordinate 1. Only pairs with c_p != v_p for one of both are not 0.
func (n *Network) positive(f *face, v []float64, i int, t, centre normalVar) func(from, to float64) arith.Interval {
	if len(f.vertices) == 1 {
		return nil
	}
	at := n.hidden.Dense().BiasOf(i)
	variances := make([]arith.Interval, len(v)+1)
	for j, at := range n.hidden.Dense().Into(i) {
		variances[j] = arith.Of(n.hidden.Weight.SdLo[at], n.hidden.Weight.SdHi[at]).Square()
	}
	variances[len(v)] = arith.Of(n.hidden.Bias.SdLo[at], n.hidden.Bias.SdHi[at]).Square()
	c, x := append(f.centre[:len(v):len(v)], 1), append(v[:len(v):len(v)], 1)
	var cov, rest arith.Interval
	for p := range c {
		cov = cov.Plus(variances[p].Times(arith.Exactly(c[p]).Times(arith.Exactly(x[p]))))
		if c[p] == x[p] {
			continue
		}
		for q := range c {
			if c[q] != x[q] && q <= p {
				continue // it comes, or came, the other way round
			}
			minor := arith.Exactly(c[p]).Times(arith.Exactly(x[q])).Minus(arith.Exactly(c[q]).Times(arith.Exactly(x[p])))
			rest = rest.Plus(variances[p].Times(variances[q]).Times(minor.Square()))
		}
	}
	slope, sd := cov.Over(t.sd), rest.Over(t.sd.Square()).Sqrt()
	if t.sd.Hi == 0 { // t(v) is a constant, and says nothing of t(centre)
		slope, sd = arith.Interval{}, centre.sd
	}
	table := normalTable()
	return func(from, to float64) arith.Interval {
		z := centre.mean.Plus(slope.Times(arith.Of(from, to))).Over(sd)
		share := arith.Of(table.belowDown(z.Lo), table.belowUp(z.Hi))
		if sd.Lo == 0 && z.Lo <= 0 {
			share.Lo = 0 // t(centre) may be the constant 0
		}
		return share
	}
}
