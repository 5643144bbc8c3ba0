package check

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// Networks that are linearised in their weights about the mean (docs/theory.md (99)): a row is that of the
// mean network and sum_k A^k(x) D^k z~^k(x), of which the rows A^k over the outputs of each layer and what feeds
// it, z^k, are fixed functions of x. No hidden bound can fail.

// linear is the covariance of all weights.
type linear struct {
	layers []posterior.Layer
	// own are the layers with a covariance of their own, nil elsewhere; joint is that of all layers.
	own         []*covaried
	joint       *common
	independent bool
	// lines are, for each cell, the hidden neurons of which the line above is taken; nil if that is not known.
	lines [][]int
}

func newLinear(about *posterior.Posterior) *linear {
	l := &linear{layers: about.Layers, own: make([]*covaried, len(about.Layers)), independent: about.Independent()}
	if about.Joint() != nil {
		l.joint = newCommon(about)
	}
	for k, c := range about.Covariances() {
		if c != nil {
			l.own[k] = newCovaried(&l.layers[k], c, 0, nil)
		}
	}
	return l
}

// linearPass is the mean network on a cell: what feeds each layer, by lines, and whether ReLUs are on.
type linearPass struct {
	*linear
	pass   *pass
	radius []float64
	centre []float64
	fed    []chosen
	on     [][]arith.Interval
	single map[[2]int]noise // of single outputs: the mean of sup_z |D_i z~|, and the largest variance
}

func (n *noisy) newLinearPass(cell property.Box, try uint64, above chooseLine) *linearPass {
	mean := n.ofMeans(try)
	l := &linearPass{linear: n.linear, pass: mean.newPass(span{cell.Lo, cell.Hi}), radius: reachOf(cell).radius, single: map[[2]int]noise{}}
	for k := range cell.Lo {
		l.centre = append(l.centre, centreOf(cell.Lo[k], cell.Hi[k]))
	}
	l.fed = append(l.fed, chosen{at: l.centre, half: make([]float64, len(l.centre)), reach: l.radius})
	var below []slopes
	before := 0
	for k := range len(n.mean) - 1 {
		l.pass.hiddenLayer(k)
		list := l.pass.slopesInto(k+1, l.centre)
		m := len(list)
		c, on := chosen{make([]float64, m), make([]float64, m), make([]float64, m), make([][]float64, m)}, make([]arith.Interval, m)
		for j := range list {
			c.take(j, &list[j], l.radius, true)
			half := c.half[j]
			if c.take(j, &list[j], l.radius, false); !above(before+j, half, c.half[j]) {
				c.take(j, &list[j], l.radius, true)
			}
			switch {
			case list[j].lo > 0:
				on[j] = arith.Exactly(1)
			case !(list[j].hi <= 0 || k > 0 && l.off(k, j, below)):
				on[j] = arith.Of(0, 1)
			}
		}
		below, before = list, before+m
		l.fed, l.on = append(l.fed, c), append(l.on, on)
	}
	return l
}

// off says that lines of what feeds layer k keep the pre-activation of its output j from being above 0.
func (l *linearPass) off(k, j int, below []slopes) bool {
	of, out := &l.layers[k], l.layers[k].Outputs()
	var most arith.Sum
	most.Plus(of.Bias.Mean[j])
	along := make([]arith.Sum, len(l.radius))
	for i := range below {
		w, at, slope := of.Weight.Mean[i*out+j], below[i].upper, below[i].above
		if w < 0 {
			at, slope = below[i].lower, below[i].below
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

func (l *linearPass) tails(s *property.Safe) []float64 {
	tails := make([]float64, len(s.Rows))
	for r := range tails {
		tails[r] = l.tailUp(&s.Rows[r])
	}
	return tails
}

// tailUp bounds the probability that the row is negative, or 0, somewhere in the cell.
func (l *linearPass) tailUp(row *property.Row) float64 {
	last := len(l.layers) - 1
	s, c := l.pass.layers[last].merged(row)
	at, slope, _ := l.pass.lineBelow(last, s, c, l.centre)
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
		for j, half := range l.fed[k].half {
			if half != 0 {
				sum.Add(-timesSqrt2OverPiUp(n.sd[k][j]), half)
			}
		}
	}
	root := arith.SqrtUp(n.variance)
	for k := range wide {
		for o, w := range wide[k] {
			if w != 0 {
				one := l.ofOutput(k, o)
				sum.Add(-one.mean, w)
				root = arith.SumUp(root, arith.ProductUp(w, arith.SqrtUp(one.variance)))
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
func (l *linearPass) rows(row *property.Row) (fixed []span, wide [][]float64) {
	last := len(l.layers) - 1
	fixed, wide = make([]span, last+1), make([][]float64, last+1)
	now, vary := make([]arith.Interval, len(row.CLo)), make([]bool, len(row.CLo))
	for o := range now {
		now[o] = arith.Of(row.CLo[o], row.CHi[o])
	}
	for k := last; k >= 0; k-- {
		fixed[k], wide[k] = newSpan(len(now)), make([]float64, len(now))
		for o, v := range now {
			fixed[k].lo[o], fixed[k].hi[o] = v.Lo, v.Hi
			if vary[o] {
				m := v.Middle()
				fixed[k].lo[o], fixed[k].hi[o], wide[k][o] = m, m, max(arith.SumUp(v.Hi, -m), arith.SumUp(m, -v.Lo))
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
			below[j] = times(&r, w, 0)
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

// noise is that of rows over the outputs of each layer, of which those of no length do not count. It is not known
// where numbers are out of range.
func (l *linearPass) noise(rows []span) (n linearNoise, known bool) {
	n.along = make([]float64, len(l.radius))
	squares, first := make([]arith.Sum, len(l.radius)), make([]arith.Interval, len(l.radius))
	var boxed, gaps arith.Sum
	second := 0.0
	for k := range l.layers {
		n.sd = append(n.sd, make([]float64, l.layers[k].Inputs()))
		if !inRange(l.fed[k].at, l.fed[k].half, l.fed[k].reach, rows[k].lo, rows[k].hi) {
			return n, false
		}
	}
	for _, part := range l.parts(rows) {
		if part.of == nil {
			return n, false
		}
		var box fedBox
		for _, k := range part.layers {
			box.c, box.h = append(append(box.c, l.fed[k].at...), 1), append(append(box.h, l.fed[k].reach...), 0)
		}
		at := part.of.at(box)
		n.centre, second = arith.SumUp(n.centre, at.centre), arith.SumUp(second, at.second)
		e := 0
		for _, k := range part.layers {
			for j, half := range l.fed[k].half {
				n.sd[k][j] = part.of.marginal(e + j)
				most := arith.SumUp(math.Abs(at.k[e+j]), at.off[e+j])
				boxed.Add(most, l.fed[k].reach[j])
				gaps.Add(most, half)
				change := arith.Of(arith.SumDown(at.k[e+j], -at.off[e+j]), arith.SumUp(at.k[e+j], at.off[e+j]))
				for i := range first {
					if s := l.slope(k, j, i); s != 0 {
						first[i] = first[i].Plus(change.Times(arith.Exactly(s)))
					}
				}
			}
			e += len(l.fed[k].half) + 1
		}
		l.addSquares(squares, part)
	}
	for i, radius := range l.radius {
		gaps.Add(first[i].Size(), radius)
		n.along[i] = arith.SqrtUp(max(0, squares[i].Hi()))
	}
	n.variance = formOf(n.centre, max(0, min(boxed.Hi(), gaps.Hi())), second)
	return n, true
}

// slope is that of number j of what feeds layer k in input i.
func (l *linearPass) slope(k, j, i int) float64 {
	switch {
	case k > 0:
		return l.fed[k].slope[j][i]
	case i == j:
		return 1
	}
	return 0
}

// addSquares adds the variance of the coefficient of each input: with S the slopes in it of what feeds the
// layers of a part, sum_t w_t (B'S)_t^2 and what B is off by.
func (l *linearPass) addSquares(squares []arith.Sum, part linearPart) {
	r := part.of
	for i := range squares {
		turned := make([]arith.Sum, r.m)
		var more arith.Sum
		e := 0
		for _, k := range part.layers {
			for j := range l.fed[k].half {
				s := l.slope(k, j, i)
				if s == 0 {
					continue
				}
				for t, v := range r.b[(e+j)*r.m : (e+j+1)*r.m] {
					turned[t] = turned[t].With(v, s)
				}
				more.Add(arith.ProductUp(r.more[e+j], math.Abs(s)), math.Abs(s))
			}
			e += len(l.fed[k].half) + 1
		}
		for t, w := range r.w {
			x := arith.Of(turned[t].Lo(), turned[t].Hi()).Size()
			squares[i].Add(arith.ProductUp(x, w), x)
		}
		squares[i].Plus(max(0, more.Hi()))
	}
}

// linearPart is the covariance of rows over the inputs of some layers and a 1 for each of their biases.
type linearPart struct {
	of     *wideRow
	layers []int
}

// parts are independent of each other.
func (l *linear) parts(rows []span) (list []linearPart) {
	if l.joint != nil {
		return []linearPart{l.jointPart(rows)}
	}
	for k, row := range rows {
		switch {
		case len(row.lo) == 0:
		case l.own[k] != nil:
			list = append(list, linearPart{l.own[k].newWide(&property.Row{CLo: row.lo, CHi: row.hi}), []int{k}})
		case l.independent:
			list = append(list, linearPart{diagonalRow(&l.layers[k], row), []int{k}})
		}
	}
	return list
}

// diagonalRow is that of independent weights.
func diagonalRow(l *posterior.Layer, row span) *wideRow {
	r := &wideRow{n: l.Inputs() + 1}
	out := l.Outputs()
	for j := range r.n {
		var s arith.Sum
		random := false
		for o := range out {
			sd := l.Bias.SdHi[o]
			if j < r.n-1 {
				sd = l.Weight.SdHi[j*out+o]
			}
			if c := abs(row.lo[o], row.hi[o]); c != 0 && sd != 0 {
				x := arith.ProductUp(c, sd)
				s.Add(x, x)
				random = true
			}
		}
		more := 0.0
		if random {
			more = max(0, s.Hi())
		}
		r.more, r.sd = append(r.more, more), append(r.sd, arith.SqrtUp(more))
	}
	return r
}

// jointPart is that of one covariance of all layers.
func (l *linear) jointPart(rows []span) linearPart {
	c := l.joint
	r, part := &wideRow{m: c.rank, norm: arith.Inf}, linearPart{}
	var off []float64
	for k, row := range rows {
		if len(row.lo) == 0 {
			continue
		}
		n, column := c.in[k]+1, make([]float64, len(row.lo))
		part.layers = append(part.layers, k)
		for j := range n {
			for _, of := range c.of[k] {
				for o := range column {
					column[o] = of[o*n+j]
				}
				if !inRange(column) {
					return linearPart{}
				}
				x := times(&property.Row{CLo: row.lo, CHi: row.hi}, column, 0)
				r.b, off = append(r.b, x.Middle()), append(off, x.Radius())
			}
		}
		r.n += n
	}
	r.more, r.w = make([]float64, r.n), slices.Repeat([]float64{1}, r.m)
	r.offBy(off)
	for j := range r.n {
		var s arith.Sum
		for _, v := range r.b[j*r.m : (j+1)*r.m] {
			s.Add(math.Abs(v), math.Abs(v))
		}
		r.sd = append(r.sd, arith.SqrtUp(arith.SumUp(max(0, s.Hi()), r.more[j])))
	}
	part.of = r
	return part
}

// ofOutput is what the noise of output o of layer k does.
func (l *linearPass) ofOutput(k, o int) noise {
	if u, known := l.single[[2]int{k, o}]; known {
		return u
	}
	rows := make([]span, len(l.layers))
	rows[k] = newSpan(l.layers[k].Outputs())
	rows[k].lo[o], rows[k].hi[o] = 1, 1
	u := noise{arith.Inf, arith.Inf}
	if n, known := l.noise(rows); known {
		var sum arith.Sum
		sum.Plus(timesSqrt2OverPiUp(arith.SqrtUp(n.centre)))
		for i, radius := range l.radius {
			sum.Add(timesSqrt2OverPiUp(n.along[i]), radius)
		}
		for j, half := range l.fed[k].half {
			sum.Add(timesSqrt2OverPiUp(n.sd[k][j]), half)
		}
		u = noise{max(0, sum.Hi()), n.variance}
	}
	l.single[[2]int{k, o}] = u
	return u
}
