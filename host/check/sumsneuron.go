package check

import (
	"math"

	"psafe/host/read/property"
)

// What stands in for the value of a hidden neuron in a cell, and the weights of a row.

// standIn stands in for the value h of one hidden neuron: unless something of probability
// at most lost happens, low is stochastically below and high above what the proof wants
// where the neuron's weight is >= 0 and < 0. constant: h is within `within` of the number
// that value holds, in all draws and everywhere in the cell.
type standIn struct {
	constant  bool
	value     enclosed
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
	narrowReach: 2 * normalTailUp(narrowReach), wideReach: 2 * normalTailUp(wideReach),
}

// newFace chooses the face; any would do.
func (n *sums) newFace(cell property.Box) *face {
	f := &face{cell: cell}
	for j, lo := range cell.Lo {
		f.centre = append(f.centre, middle(lo, cell.Hi[j]))
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
func (n *sums) narrow(f *face) []float64 {
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
func (n *sums) radius(f *face, i int) (radius, lost float64) {
	w := &n.hidden.Weight
	var s sum
	for j, at := range n.hidden.Dense().Into(i) {
		reach := f.flat[j]
		if reach == 0 {
			continue
		}
		r := max(sumUp(f.cell.Hi[j], -f.centre[j]), sumUp(f.centre[j], -f.cell.Lo[j]))
		s.add(r, sumUp(math.Abs(w.Mean[at]), productUp(reach, w.SdHi[at])))
		if w.SdHi[at] > 0 {
			lost = sumUp(lost, beyondReach[reach])
		}
	}
	if s.n == 0 {
		return 0, 0
	}
	return s.hi(), lost
}

// preactivation is t_i(x).
func (n *sums) preactivation(i int, x []float64) normalVar {
	var s normalSum
	at := n.hidden.Dense().BiasOf(i)
	b, one := &n.hidden.Bias, exact(1)
	s.add(one, b.Mean[at], b.SdLo[at], b.SdHi[at])
	w := &n.hidden.Weight
	for j, at := range n.hidden.Dense().Into(i) {
		s.add(exact(x[j]), w.Mean[at], w.SdLo[at], w.SdHi[at])
	}
	return s.normalVar()
}

// atVertex gives the stand-ins of neuron i at a vertex of the face (docs/check.md):
//
//	high = s(t(v) + radius)
//	low  = L(t(v) - radius),  L(t) = t if t(centre) > 0, else slope t
//
// and low = s(t(v) - radius) where the face is a point.
func (n *sums) atVertex(f *face, v []float64, i int) standIn {
	t := n.preactivation(i, v)
	radius, lost := n.radius(f, i)
	if !t.mean.finite() || !t.sd.finite() || !(radius <= math.MaxFloat64) {
		return standIn{lost: 1}
	}
	slope, _ := n.act.Kinked()
	centre := t
	if len(f.vertices) > 1 {
		centre = n.preactivation(i, f.centre)
	}
	if t.sd.hi == 0 {
		ends := enclosed{sumDown(t.mean.lo, -radius), sumUp(t.mean.hi, radius)}
		value := enclosed{valueDown(n.act, ends.lo), valueUp(n.act, ends.hi)}
		// One sign all over: low is s(t(v)) as well.
		oneSign := centre.sd.hi == 0 && (centre.mean.lo > 0 && ends.lo >= 0 || centre.mean.hi <= 0 && ends.hi <= 0)
		if !f.loose && (len(f.vertices) == 1 || slope == 1 || oneSign) {
			if radius == 0 {
				return standIn{constant: true, value: value, lost: lost}
			}
			m := middle(value.lo, value.hi)
			return standIn{constant: true, value: exact(m), within: max(sumUp(value.hi, -m), sumUp(m, -value.lo)), lost: lost}
		}
	}
	z, mass, more := standardBins(t.sd)
	h := standIn{lost: sumUp(lost, more)}
	positive := n.positive(f, v, i, t, centre)
	place := func(a *atoms, x, p float64) {
		if p < 0x1p-66 {
			h.lost = up(h.lost + p) // too light to carry along
			return
		}
		a.add(x, p)
	}
	for k, m := range mass {
		x := t.bin(z[k], z[k+1])
		if radius > 0 {
			x = enclosed{sumDown(x.lo, -radius), sumUp(x.hi, radius)}
		}
		value := enclosed{valueDown(n.act, x.lo), valueUp(n.act, x.hi)}
		place(&h.high, value.hi, m)
		if len(f.vertices) == 1 || slope == 1 {
			place(&h.low, value.lo, m)
			continue
		}
		// Of the two values that low may have, the larger one gets its least share.
		shares := positive(z[k], z[k+1])
		share := shares.hi
		if x.lo >= 0 {
			share = shares.lo
		}
		place(&h.low, x.lo, productUp(m, share))
		place(&h.low, productDown(slope, x.lo), productUp(m, up(1-share)))
	}
	return h
}

// standardBins are edges of bins of Z with their masses, and what is lost beyond them; for a
// constant one bin that is a point.
func standardBins(sd enclosed) (z, mass []float64, lost float64) {
	if sd.hi == 0 {
		return []float64{0, 0}, []float64{1}, 0
	}
	table := normalTable()
	return table.edges, table.mass, table.lost
}

// bin encloses mean + z sd for z in [from, to].
func (t normalVar) bin(from, to float64) enclosed { return t.mean.plus(t.sd.times(enclosed{from, to})) }

// positive encloses Prob(t(centre) > 0 | t(v) = mean + Z sd) for Z in [from, to]: given Z,
// t(centre) is normal with mean muC + Z Cov/sd and, by Lagrange's identity, the variance
//
//	Var t(c) - Cov^2/sd^2 = sum_(p<q) s_p^2 s_q^2 (c_p v_q - c_q v_p)^2 / sd^2
//
// where nothing cancels; s_p are the weights' standard deviations, and the bias counts as a
// last coordinate 1. Only pairs with c_p != v_p for one of both are not 0.
func (n *sums) positive(f *face, v []float64, i int, t, centre normalVar) func(from, to float64) enclosed {
	if len(f.vertices) == 1 {
		return nil
	}
	at := n.hidden.Dense().BiasOf(i)
	square := func(x enclosed) enclosed { return x.size().times(x.size()) }
	variances := make([]enclosed, len(v)+1)
	for j, at := range n.hidden.Dense().Into(i) {
		variances[j] = square(enclosed{n.hidden.Weight.SdLo[at], n.hidden.Weight.SdHi[at]})
	}
	variances[len(v)] = square(enclosed{n.hidden.Bias.SdLo[at], n.hidden.Bias.SdHi[at]})
	c, x := append(f.centre[:len(v):len(v)], 1), append(v[:len(v):len(v)], 1)
	var cov, rest enclosed
	for p := range c {
		cov = cov.plus(variances[p].times(exact(c[p]).times(exact(x[p]))))
		if c[p] == x[p] {
			continue
		}
		for q := range c {
			if c[q] != x[q] && q <= p {
				continue // it comes, or came, the other way round
			}
			minor := exact(c[p]).times(exact(x[q])).minus(exact(c[q]).times(exact(x[p])))
			rest = rest.plus(variances[p].times(variances[q]).times(square(minor)))
		}
	}
	slope, sd := cov.over(t.sd), rest.over(square(t.sd)).root()
	if t.sd.hi == 0 { // t(v) is a constant, and says nothing of t(centre)
		slope, sd = enclosed{}, centre.sd
	}
	table := normalTable()
	return func(from, to float64) enclosed {
		z := centre.mean.plus(slope.times(enclosed{from, to})).over(sd)
		share := enclosed{table.belowDown(z.lo), table.belowUp(z.hi)}
		if sd.lo == 0 && z.lo <= 0 {
			share.lo = 0 // t(centre) may be the constant 0
		}
		return share
	}
}
