package clbp

import (
	"slices"

	"psafe/host/arith"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
)

// CellPass bounds the hidden layers on one cell, on the event that none of these bounds fails:
// each neuron's lower and its upper bound may do so with probability tau, its radius with
// probability tau RadiusShare (section 3.3). The pass is that of LBP with the means as weights.
type CellPass struct {
	*Noisy
	relax.Pass
	tau float64
	// reach[k] is that of the outputs of layer k, and vary[k] what is known of it where the layer is
	// linear in noise: mean and variance of what bounds it; fedReach is what feeds a layer.
	reach    []Reach
	vary     [][]law.Noise
	fedReach []*Reach
	input    Reach
	// point reports whether one point is meant, as the cell is one or whichever of it, so that every radius is 0; SharpRows whether the noise of rows
	// of hidden layers is bounded by sharp, too; bent that other lower slopes are tried for rows of
	// the property, bentRows that they are for rows of hidden layers.
	point, SharpRows, Bent, bentRows bool
	// ball holds what the cell is cut to, nil if it is not.
	ball *ballCell
	// concaves is nil where there is no noise of the inputs.
	concaves *concaves
	// others holds what otherLowers says, once it has been asked.
	others [][][]relax.Line
	// Events is how many bounds may fail, in units of tau; starred are the units of layers that
	// only max pools take whose lower bounds have been counted.
	Events  float64
	starred []map[int32]bool
}

// Noises holds the noise that a row has met, by level. Layers of one level do not feed each other,
// so that given all weights below the sum of their noise is one Gaussian process: it counts as that
// of one layer.
type Noises struct {
	of  []law.Noise
	met []bool
}

func (s *Noises) Add(level int, n law.Noise) {
	for len(s.of) <= level {
		s.of, s.met = append(s.of, law.Noise{}), append(s.met, false)
	}
	s.of[level], s.met[level] = s.of[level].Plus(n), true
}

func (s *Noises) Clone() Noises { return Noises{slices.Clone(s.of), slices.Clone(s.met)} }

// list returns the list of the levels met, from the highest down.
func (s *Noises) list() (list []law.Noise) {
	for v := len(s.of) - 1; v >= 0; v-- {
		if s.met[v] {
			list = append(list, s.of[v])
		}
	}
	return list
}

// total is the noise of all levels, and how many they are.
func (s *Noises) total() (total law.Noise, levels int) {
	list := s.list()
	return sumOf(list), len(list)
}

func sumOf(list []law.Noise) (total law.Noise) {
	for _, n := range list {
		total = total.Plus(n)
	}
	return total
}

// ReachInto is the reach of what feeds layer k.
func (p *CellPass) ReachInto(k int) *Reach {
	if p.fedReach[k] == nil {
		p.fedReach[k] = ReachOfFed(p.Graph.From[k], &p.input, p.reach)
	}
	return p.fedReach[k]
}

// ReachOfFed is the reach of what these sources give: the input for -1, else a layer.
func ReachOfFed(from []int, input *Reach, layers []Reach) *Reach {
	all := &Reach{}
	for _, s := range from {
		r := input
		if s >= 0 {
			r = &layers[s]
		}
		if len(from) == 1 {
			return r
		}
		all.Radius, all.RadiusSq, all.MostSq = append(all.Radius, r.Radius...), append(all.RadiusSq, r.RadiusSq...), append(all.MostSq, r.MostSq...)
	}
	return all
}

// fall holds what a row met on its way down a chain: coefficients of the pre-activations of each
// layer below the top, and of the inputs, and the constant.
type fall struct {
	A        [][]float64
	inputs   relax.Span
	constant arith.Sum
}

// NewFall returns what a row of layer k is going to meet that goes down in way w.
func (p *CellPass) NewFall(k int, w *relax.Way) *fall {
	f := &fall{A: make([][]float64, k)}
	w.Visit = func(l int, a []float64) { f.A[l] = a }
	w.Arrive = func(s relax.Span, c arith.Sum) { f.inputs, f.constant = s, c }
	return f
}

// alone reports whether what all layers have in common is all the noise that there is.
func (p *CellPass) alone() bool { return p.common != nil && p.common.Alone }

// noisyLo bounds s z + c from below, z being what feeds layer k, but for a probability of tau;
// met is noise that the row has met already, and g what of P z.
func (p *CellPass) noisyLo(k int, s relax.Span, c arith.Sum, met *Noises, tau float64, w relax.Way, g *covary.Gone) float64 {
	lo := p.linesLo(k, s, c, met, w, g)
	total, levels := met.total()
	return arith.SumDown(lo, -total.ByUp(p.Quantile(tau, levels)))
}

// linesLo bounds s z + c from below, z being what feeds layer k, but for the noise of the
// layers below k, which is added to met: (10). g, if it is not nil, is what the row has met of P z, which
// becomes the lowest level.
func (p *CellPass) linesLo(k int, s relax.Span, c arith.Sum, met *Noises, w relax.Way, g *covary.Gone) float64 {
	see := w.Visit
	w.Visit = func(l int, a []float64) {
		if see != nil {
			see(l, a)
		}
		switch {
		case !p.Levels.Noise[l] || p.alone():
		case l == 0:
			met.Add(p.Levels.Of[l], p.firstRow(a))
		default:
			met.Add(p.Levels.Of[l], p.Deviations[l].OfRow(a, p.ReachInto(l), p.Into(l)))
		}
		if g != nil {
			g.Meet(l, a, a, covary.FedBoxOf(p.Into(l)))
		}
	}
	lo := p.Down(k, s, c, w)
	if g != nil {
		met.Add(commonLevel, g.Noise())
	}
	return lo
}

// commonLevel is below those of all layers.
const commonLevel = 0

// RadiusShare is the share of tau that a bound of the variation over the cell may fail with.
const RadiusShare = 1.0 / 64

// looseShare is the share of tau that either bound may fail with of what is not needed but for
// the roundings of coefficients.
const looseShare = 0x1p-20

// BudgetUp bounds the probability that a hidden bound fails.
func (p *CellPass) BudgetUp() float64 {
	return arith.ProductUp(p.Events, p.tau) // the first factor is exact: a multiple of 2^-20
}

// pay counts the events of a neuron of layer k that is bounded but for a share of tau. Lower
// bounds of what only max pools take are counted where they are used.
func (p *CellPass) pay(k int, share float64) {
	p.Events += share
	if !p.Graph.Pooled[k] {
		p.Events += share
	}
	if share == 1 && !p.point {
		p.Events += RadiusShare
	}
}

// ballCell is a ball around a centre in the cell; shutLo and shutHi say in which inputs the cell has
// nothing below the centre, or above it.
type ballCell struct {
	norm           int
	centre, radius []float64
	shutLo, shutHi []bool
	units          ballUnits
}

// ballUnits are, for each unit of the first layer: its noise downward and upward from the centre, how
// it varies, the greatest r_j sd_j, and a bound of E |(r_j W_j)|_2^2.
type ballUnits struct {
	down, up, vary []law.Noise
	steep, sizeSq  []float64
}

// varianceUp bounds sum_j s_j x_j^2 over the ball.
func (b *ballCell) varianceUp(spreads []float64) float64 {
	var square arith.Sum
	steep := 0.0
	for j, s := range spreads {
		square.Add(s, law.SquareUp(b.centre[j]))
		steep = max(steep, arith.Up(b.radius[j]*arith.SqrtUp(s)))
	}
	return law.SquareUp(arith.SumUp(arith.SqrtUp(max(0, square.Hi())), steep))
}

// firstRow is OfRow of the first layer with the ball's variance, where that is less.
func (p *CellPass) firstRow(a []float64) law.Noise {
	n, d := p.Deviations[0].OfRow(a, p.ReachInto(0), p.Into(0)), &p.Deviations[0]
	if p.ball == nil {
		return n
	}
	var bias arith.Sum
	squares := law.SquaresUp(a)
	for i, q := range squares {
		bias.Add(q, d.BiasVariance[i])
	}
	n.Variance = min(n.Variance, arith.SumUp(p.ball.varianceUp(d.spreads(squares)), max(0, bias.Hi())))
	return n
}
