package ontop

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/covary"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Networks that are linearised in their weights about the mean (docs/theory.md (99)): a row is that of the
// mean network and sum_k A^k(x) D^k z~^k(x), of which the rows A^k over the outputs of each layer and what feeds
// it, z^k, are fixed functions of x. No hidden bound can fail.

// Linear is the covariance of all weights.
type Linear struct {
	layers []posterior.Layer
	// own are the layers with a covariance of their own, nil elsewhere; joint is that of all layers.
	own         []*covary.Covaried
	joint       *covary.Common
	independent bool
	// Lines are, for each cell, the hidden neurons of which the line above is taken; nil if that is not known.
	Lines [][]int
}

func NewLinear(about *posterior.Posterior) *Linear {
	l := &Linear{layers: about.Layers, own: make([]*covary.Covaried, len(about.Layers)), independent: about.Independent()}
	if about.Joint() != nil {
		l.joint = covary.NewCommon(about)
	}
	for k, c := range about.Covariances() {
		if c != nil {
			l.own[k] = covary.NewCovaried(&l.layers[k], c, 0, nil)
		}
	}
	return l
}

// LinearPass is the mean network on a cell: what feeds each layer, by lines, and whether ReLUs are on.
type LinearPass struct {
	*Linear
	pass   *relax.Pass
	radius []float64
	centre []float64
	fed    []relax.Chosen
	on     [][]arith.Interval
	single map[[2]int]law.Noise // of single outputs: the mean of sup_z |D_i z~|, and the largest variance
}

func NewLinearPass(of *Linear, mean relax.Network, cell property.Box, above ChooseLine) *LinearPass {
	l := &LinearPass{Linear: of, pass: mean.NewPass(relax.Span{Lo: cell.Lo, Hi: cell.Hi}), radius: relax.RadiusOf(cell), centre: relax.CentresOf(cell), single: map[[2]int]law.Noise{}}
	l.fed = append(l.fed, relax.Chosen{At: l.centre, Half: make([]float64, len(l.centre)), Reach: l.radius})
	var below []relax.Slopes
	before := 0
	for k := range len(mean.Layers) - 1 {
		l.pass.HiddenLayer(k)
		list := l.pass.SlopesInto(k+1, l.centre)
		m := len(list)
		c, on := relax.NewChosen(m), make([]arith.Interval, m)
		for j := range list {
			c.Take(j, &list[j], l.radius, true)
			half := c.Half[j]
			if c.Take(j, &list[j], l.radius, false); !above(before+j, half, c.Half[j]) {
				c.Take(j, &list[j], l.radius, true)
			}
			switch {
			case list[j].Lo > 0:
				on[j] = arith.Exactly(1)
			case !(list[j].Hi <= 0 || k > 0 && l.off(k, j, below)):
				on[j] = arith.Of(0, 1)
			}
		}
		below, before = list, before+m
		l.fed, l.on = append(l.fed, c), append(l.on, on)
	}
	return l
}

// off reports whether lines of what feeds layer k keep the pre-activation of its output j from being above 0.
func (l *LinearPass) off(k, j int, below []relax.Slopes) bool {
	of, out := &l.layers[k], l.layers[k].Outputs()
	var most arith.Sum
	most.Plus(of.Bias.Mean[j])
	along := make([]arith.Sum, len(l.radius))
	for i := range below {
		w, at, slope := of.Weight.Mean[i*out+j], below[i].Upper, below[i].Above
		if w < 0 {
			at, slope = below[i].Lower, below[i].Below
		}
		most.Add(w, at)
		for x, s := range slope {
			along[x] = along[x].With(w, s)
		}
	}
	for x, radius := range l.radius {
		most.Add(max(math.Abs(along[x].Lo()), math.Abs(along[x].Hi())), radius)
	}
	return most.Hi() <= 0
}

func (l *LinearPass) Tails(s *property.Safe) []float64 {
	tails := make([]float64, len(s.Rows))
	for r := range tails {
		tails[r] = l.tailUp(&s.Rows[r])
	}
	return tails
}

// tailUp bounds the probability that the row is negative, or 0, somewhere in the cell.
func (l *LinearPass) tailUp(row *property.Row) float64 {
	last := len(l.layers) - 1
	s, c := l.pass.Layers[last].Merged(row)
	at, slope, _ := l.pass.LineBelow(last, s, c, l.centre)
	rows, wide := l.rows(row)
	n, known := l.noise(rows)
	if !known {
		return 1
	}
	var sum arith.Sum
	sum.Plus(at)
	for i, radius := range l.radius {
		if radius != 0 {
			sum.Add(-gauss.AbsMeanUp(math.Abs(slope[i]), n.along[i]), radius)
		}
	}
	for k := range l.fed {
		for j, half := range l.fed[k].Half {
			if half != 0 {
				sum.Add(-law.TimesSqrt2OverPiUp(n.sd[k][j]), half)
			}
		}
	}
	root := arith.SqrtUp(n.variance)
	for k := range wide {
		for o, w := range wide[k] {
			if w != 0 {
				one := l.ofOutput(k, o)
				sum.Add(-one.Mean, w)
				root = arith.SumUp(root, arith.ProductUp(w, arith.SqrtUp(one.Variance)))
			}
		}
	}
	least := sum.Lo()
	if !arith.Finite(least, least) || !arith.Finite(root, root) || least <= 0 {
		return 1
	}
	if root == 0 {
		return 0
	}
	return gauss.TailOfUp(arith.DDOf(arith.Down(least / root)))
}

// rows are the row's coefficients of the outputs of each layer for all x of the cell: numbers that are the same
// for all x, and what others are off by at most.
func (l *LinearPass) rows(row *property.Row) (fixed []relax.Span, wide [][]float64) {
	last := len(l.layers) - 1
	fixed, wide = make([]relax.Span, last+1), make([][]float64, last+1)
	now, vary := make([]arith.Interval, len(row.CLo)), make([]bool, len(row.CLo))
	for o := range now {
		now[o] = arith.Of(row.CLo[o], row.CHi[o])
	}
	for k := last; k >= 0; k-- {
		fixed[k], wide[k] = relax.NewSpan(len(now)), make([]float64, len(now))
		for o, v := range now {
			fixed[k].Lo[o], fixed[k].Hi[o] = v.Lo, v.Hi
			if vary[o] {
				m := v.Middle()
				fixed[k].Lo[o], fixed[k].Hi[o], wide[k][o] = m, m, max(arith.SumUp(v.Hi, -m), arith.SumUp(m, -v.Lo))
			}
		}
		if k == 0 {
			break
		}
		in, out := l.layers[k].Inputs(), len(now)
		below, varies := make([]arith.Interval, in), make([]bool, in)
		for j := range below {
			on := l.on[k-1][j]
			if on == (arith.Interval{}) {
				continue
			}
			r := property.Row{CLo: make([]float64, out), CHi: make([]float64, out)}
			for o, v := range now {
				r.CLo[o], r.CHi[o] = v.Lo, v.Hi
			}
			w := l.layers[k].Weight.Mean[j*out : (j+1)*out]
			below[j] = covary.Times(&r, w, 0)
			if varies[j] = slices.ContainsFunc(upTo(out), func(o int) bool { return vary[o] && w[o] != 0 }); on.Lo == 0 {
				below[j], varies[j] = arith.Of(min(0, below[j].Lo), max(0, below[j].Hi)), true
			}
		}
		now, vary = below, varies
	}
	return fixed, wide
}

// linearNoise is the noise of rows on the cell: deviations of the coefficients of what feeds each layer, of
// those that lines give each input, and bounds of the variance at the middle and everywhere.
type linearNoise struct {
	sd               [][]float64
	along            []float64
	centre, variance float64
}

// noise returns the noise of rows over the outputs of each layer, of which those of no length do not count. It
// is not known where numbers are out of range.
func (l *LinearPass) noise(rows []relax.Span) (n linearNoise, known bool) {
	n.along = make([]float64, len(l.radius))
	squares, first := make([]arith.Sum, len(l.radius)), make([]arith.Interval, len(l.radius))
	var boxed, gaps arith.Sum
	second := 0.0
	for k := range l.layers {
		n.sd = append(n.sd, make([]float64, l.layers[k].Inputs()))
		if !covary.InRange(l.fed[k].At, l.fed[k].Half, l.fed[k].Reach, rows[k].Lo, rows[k].Hi) {
			return n, false
		}
	}
	for _, part := range l.parts(rows) {
		if part.of == nil {
			return n, false
		}
		var box covary.FedBox
		for _, k := range part.layers {
			box.C, box.H = append(append(box.C, l.fed[k].At...), 1), append(append(box.H, l.fed[k].Reach...), 0)
		}
		at := part.of.At(box)
		n.centre, second = arith.SumUp(n.centre, at.Centre), arith.SumUp(second, at.Second)
		e := 0
		for _, k := range part.layers {
			for j, half := range l.fed[k].Half {
				n.sd[k][j] = part.of.Marginal(e + j)
				most := arith.SumUp(math.Abs(at.K[e+j]), at.Off[e+j])
				boxed.Add(most, l.fed[k].Reach[j])
				gaps.Add(most, half)
				change := arith.Of(arith.SumDown(at.K[e+j], -at.Off[e+j]), arith.SumUp(at.K[e+j], at.Off[e+j]))
				for i := range first {
					if s := l.slope(k, j, i); s != 0 {
						first[i] = first[i].Plus(change.Times(arith.Exactly(s)))
					}
				}
			}
			e += len(l.fed[k].Half) + 1
		}
		l.addSquares(squares, part)
	}
	for i, radius := range l.radius {
		gaps.Add(first[i].Size(), radius)
		n.along[i] = arith.SqrtUp(max(0, squares[i].Hi()))
	}
	n.variance = covary.FormOf(n.centre, max(0, min(boxed.Hi(), gaps.Hi())), second)
	return n, true
}

// slope returns the slope of number j of what feeds layer k in input i.
func (l *LinearPass) slope(k, j, i int) float64 {
	switch {
	case k > 0:
		return l.fed[k].Slope[j][i]
	case i == j:
		return 1
	}
	return 0
}

// addSquares adds the variance of the coefficient of each input: with S the slopes in it of what feeds the
// layers of a part, sum_t w_t (B'S)_t^2 and what B is off by.
func (l *LinearPass) addSquares(squares []arith.Sum, part linearPart) {
	r := part.of
	for i := range squares {
		turned := make([]arith.Sum, r.M)
		var more arith.Sum
		e := 0
		for _, k := range part.layers {
			for j := range l.fed[k].Half {
				s := l.slope(k, j, i)
				if s == 0 {
					continue
				}
				for t, v := range r.B[(e+j)*r.M : (e+j+1)*r.M] {
					turned[t] = turned[t].With(v, s)
				}
				more.Add(arith.ProductUp(r.More[e+j], math.Abs(s)), math.Abs(s))
			}
			e += len(l.fed[k].Half) + 1
		}
		for t, w := range r.W {
			x := arith.Of(turned[t].Lo(), turned[t].Hi()).Size()
			squares[i].Add(arith.ProductUp(x, w), x)
		}
		squares[i].Plus(max(0, more.Hi()))
	}
}

// linearPart is the covariance of rows over the inputs of some layers and a 1 for each of their biases.
type linearPart struct {
	of     *covary.WideRow
	layers []int
}

// parts are independent of each other.
func (l *Linear) parts(rows []relax.Span) (list []linearPart) {
	if l.joint != nil {
		return []linearPart{l.jointPart(rows)}
	}
	for k, row := range rows {
		switch {
		case len(row.Lo) == 0:
		case l.own[k] != nil:
			list = append(list, linearPart{l.own[k].NewWide(&property.Row{CLo: row.Lo, CHi: row.Hi}), []int{k}})
		case l.independent:
			list = append(list, linearPart{diagonalRow(&l.layers[k], row), []int{k}})
		}
	}
	return list
}

// diagonalRow returns the diagonal row of independent weights.
func diagonalRow(l *posterior.Layer, row relax.Span) *covary.WideRow {
	r := &covary.WideRow{N: l.Inputs() + 1}
	out := l.Outputs()
	for j := range r.N {
		var s arith.Sum
		random := false
		for o := range out {
			sd := l.Bias.SdHi[o]
			if j < r.N-1 {
				sd = l.Weight.SdHi[j*out+o]
			}
			if c := relax.Abs(row.Lo[o], row.Hi[o]); c != 0 && sd != 0 {
				x := arith.ProductUp(c, sd)
				s.Add(x, x)
				random = true
			}
		}
		more := 0.0
		if random {
			more = max(0, s.Hi())
		}
		r.More, r.Sd = append(r.More, more), append(r.Sd, arith.SqrtUp(more))
	}
	return r
}

// jointPart returns the joint part of one covariance of all layers.
func (l *Linear) jointPart(rows []relax.Span) linearPart {
	c := l.joint
	r, part := &covary.WideRow{M: c.Rank, Norm: arith.Inf}, linearPart{}
	var b []arith.Interval
	for k, row := range rows {
		if len(row.Lo) == 0 {
			continue
		}
		n, column := c.In[k]+1, make([]float64, len(row.Lo))
		part.layers = append(part.layers, k)
		for j := range n {
			for _, of := range c.Of[k] {
				for o := range column {
					column[o] = of[o*n+j]
				}
				if !covary.InRange(column) {
					return linearPart{}
				}
				b = append(b, covary.Times(&property.Row{CLo: row.Lo, CHi: row.Hi}, column, 0))
			}
		}
		r.N += n
	}
	r.More, r.W = make([]float64, r.N), slices.Repeat([]float64{1}, r.M)
	r.Around(b)
	for j := range r.N {
		var s arith.Sum
		for _, v := range r.B[j*r.M : (j+1)*r.M] {
			s.Add(math.Abs(v), math.Abs(v))
		}
		r.Sd = append(r.Sd, arith.SqrtUp(arith.SumUp(max(0, s.Hi()), r.More[j])))
	}
	part.of = r
	return part
}

// ofOutput returns what the noise of output o of layer k does.
func (l *LinearPass) ofOutput(k, o int) law.Noise {
	if u, known := l.single[[2]int{k, o}]; known {
		return u
	}
	rows := make([]relax.Span, len(l.layers))
	rows[k] = relax.NewSpan(l.layers[k].Outputs())
	rows[k].Lo[o], rows[k].Hi[o] = 1, 1
	u := law.Noise{Mean: arith.Inf, Variance: arith.Inf}
	if n, known := l.noise(rows); known {
		var sum arith.Sum
		sum.Plus(law.TimesSqrt2OverPiUp(arith.SqrtUp(n.centre)))
		for i, radius := range l.radius {
			sum.Add(law.TimesSqrt2OverPiUp(n.along[i]), radius)
		}
		for j, half := range l.fed[k].Half {
			sum.Add(law.TimesSqrt2OverPiUp(n.sd[k][j]), half)
		}
		u = law.Noise{Mean: max(0, sum.Hi()), Variance: n.variance}
	}
	l.single[[2]int{k, o}] = u
	return u
}

// Which lines describe what feeds the layers of linearised networks (docs/theory.md, section 5.8): a choice, which
// records name.

// ChooseLine says of hidden neuron number at, counted over the layers, whether the line above is taken, given what
// half-widths both leave. Any choice is sound.
type ChooseLine func(at int, below, above float64) bool

func LinesNarrow(_ int, below, above float64) bool { return above < below*(1-0x1p-20) }

// LinesOf takes the lines of a cell, those below where none are known.
func (l *Linear) LinesOf(cell int) ChooseLine {
	return func(at int, _, _ float64) bool {
		if l.Lines == nil {
			return false
		}
		_, is := slices.BinarySearch(l.Lines[cell], at)
		return is
	}
}
