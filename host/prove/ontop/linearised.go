package ontop

import (
	"math"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/bound"
	"psafe/host/model/posterior"
	"psafe/host/prove/covary"
	"psafe/host/read/property"
)

// Linearised bounds rows of the functions of a posterior of KindLinearised (docs/theory.md (99)): those of
// the mean network, and noise that all layers' weights add to them by a fixed function of the input each.
type Linearised struct {
	layers []posterior.Layer
	blocks *covary.Blocks
}

// NewLinearised is nil for a posterior of another kind. It is an error if numbers are so large that products
// could overflow, or that of ended.
func NewLinearised(post *posterior.Posterior, ended covary.Ended) (*Linearised, error) {
	if post.About() == nil {
		return nil, nil
	}
	blocks, err := covary.NewBlocks(post.About(), ended)
	if err != nil {
		return nil, err
	}
	return &Linearised{post.Layers, blocks}, nil
}

// LinearisedCell holds what is known for all x of a box: of what feeds each layer of the mean network, of whether
// its ReLUs are on, and lines below rows of it.
type LinearisedCell struct {
	lines *covary.Lines
	// on[k] are the derivatives of the outputs of hidden layer k in its pre-activations: 0, 1, or between.
	on   [][]arith.Interval
	rows []line
	all  []float64
	// Above are the hidden neurons, counted over all layers, whose line is the one above them.
	Above []int
	// units holds what the noise of single outputs of layers does, once it has been asked for.
	units map[[2]int]unitNoise
}

// unitNoise bounds the mean of sup_z |D_i z~| and the root of the largest variance of D_i z~.
type unitNoise struct{ mean, sd float64 }

// NewLinearisedCell takes what a device says of the mean network on a box, of item i: features[k] of UnitRows
// of what feeds layer k+1, and rows of those of a property. It is nil where nothing is known.
func (l *Linearised) NewLinearisedCell(features []*bound.InputLines, rows *bound.InputLines, i int, box property.Box, p bound.Precision) *LinearisedCell {
	in := InputCell(box)
	c := &LinearisedCell{units: map[[2]int]unitNoise{}, lines: &covary.Lines{Radius: in.radius, Slope: [][][]float64{nil}}}
	centre := make([]float64, len(box.Lo))
	for k := range centre {
		centre[k] = property.Middle(box.Lo[k], box.Hi[k])
	}
	c.take(centre, make([]float64, len(centre)), in.radius)
	below, before := in, 0
	for k, f := range features {
		n := l.layers[k].Outputs()
		known := NewCell(f, i, n, box, p)
		c.all = append(c.all, known.Numbers()...)
		at, above := known.narrow()
		if at == nil {
			return nil
		}
		for _, j := range above {
			c.Above = append(c.Above, before+j)
		}
		before += n
		c.take(at.at, at.half, at.reach)
		c.lines.Slope = append(c.lines.Slope, at.slope)
		on := make([]arith.Interval, n)
		for j := range on {
			switch { // a number above 0 is that of a ReLU that is on
			case known.lo[j] > 0:
				on[j] = arith.Exactly(1)
			case !l.off(k, j, below):
				on[j] = arith.Of(0, 1)
			}
		}
		below = known
		c.on = append(c.on, on)
	}
	for r := range rows.Rows {
		t := lineBelow(rows, i, r, centre, box, p)
		c.rows, c.all = append(c.rows, t), append(append(c.all, t.at), t.slope...)
	}
	return c
}

// off reports whether the pre-activation of output j of layer k is surely never above 0, by what is known of what
// feeds it: by intervals, or by lines. (What is known of the output itself is never that it is 0: a device
// allows for what may underflow.)
func (l *Linearised) off(k, j int, z *Cell) bool {
	out, mean := l.layers[k].Outputs(), l.layers[k].Weight.Mean
	var most, at arith.Sum
	most.Plus(l.layers[k].Bias.Mean[j])
	at.Plus(l.layers[k].Bias.Mean[j])
	slope, size := make([]float64, len(z.radius)), make([]float64, len(z.radius))
	for i := range z.lo {
		w := mean[i*out+j]
		most.Add(arith.MostProduct(w, w, z.lo[i], z.hi[i]))
		if z.whole() {
			continue
		}
		of := &z.upper[i]
		if w < 0 {
			of = &z.lower[i]
		}
		at.Add(w, of.at)
		covary.AddBoth(slope, size, w, of.slope)
	}
	if z.whole() || most.Hi() <= 0 {
		return most.Hi() <= 0
	}
	u := covary.Unit(len(z.lo))
	for i, radius := range z.radius {
		if radius != 0 {
			at.Add(arith.Up(math.Abs(slope[i])+float64(u*size[i]))+covary.Tiny, radius)
		}
	}
	return at.Hi() <= 0
}

func (c *LinearisedCell) take(at, half, reach []float64) {
	c.lines.At, c.lines.Half, c.lines.Reach = append(c.lines.At, at), append(c.lines.Half, half), append(c.lines.Reach, reach)
}

// Numbers are all that a device has said of a cell.
func (c *LinearisedCell) Numbers() []float64 { return c.all }

// TailUp bounds the probability that row r of the property, the one of the cell's rows with that number, is
// negative, or 0, somewhere in the cell, from above: Q(E F / sqrt v) of (99).
func (l *Linearised) TailUp(row *property.Row, r int, c *LinearisedCell) float64 {
	if c == nil || !covary.InRange(row.CLo) || !covary.InRange(row.CHi) {
		return 1
	}
	lo, hi, wide := l.coefficients(row, c)
	n := l.blocks.Noise(lo, hi, c.lines)
	if n == nil {
		return 1
	}
	var sum arith.Sum
	sum.Plus(c.rows[r].at)
	for i, radius := range c.lines.Radius {
		if radius != 0 {
			sum.Add(-gauss.AbsMeanUp(math.Abs(c.rows[r].slope[i]), n.Along[i]), radius)
		}
	}
	for k, list := range c.lines.Half {
		for j, half := range list {
			if half != 0 {
				sum.Add(-gauss.AbsMeanUp(0, n.Sd[k][j]), half)
			}
		}
	}
	sd := arith.Up(math.Sqrt(n.Variance))
	for k := range wide {
		for o, w := range wide[k] {
			if w != 0 {
				u := l.unit(c, k, o)
				sum.Add(-u.mean, w)
				sd = arith.Up(sd + arith.Up(w*u.sd))
			}
		}
	}
	least := sum.Lo()
	switch {
	case !(least > 0 && least <= math.MaxFloat64 && sd <= math.MaxFloat64):
		return 1
	case sd == 0:
		return 0
	}
	return gauss.TailUp(arith.Down(least / sd))
}

// coefficients returns the coefficients of the row over the pre-activations of each layer, for all x of the
// cell: numbers in [lo, hi] that are the same for all x, and what is within wide of 0 more and is not.
func (l *Linearised) coefficients(row *property.Row, c *LinearisedCell) (lo, hi, wide [][]float64) {
	last := len(l.layers) - 1
	lo, hi, wide = make([][]float64, last+1), make([][]float64, last+1), make([][]float64, last+1)
	of, vary := make([]arith.Interval, l.layers[last].Outputs()), make([]bool, l.layers[last].Outputs())
	for o := range of {
		of[o] = arith.Of(row.CLo[o], row.CHi[o])
	}
	for k := last; ; k-- {
		lo[k], hi[k], wide[k] = make([]float64, len(of)), make([]float64, len(of)), make([]float64, len(of))
		for o, v := range of {
			if lo[k][o], hi[k][o] = v.Lo, v.Hi; vary[o] {
				middle := v.Middle()
				lo[k][o], hi[k][o] = middle, middle
				wide[k][o] = max(arith.SumUp(v.Hi, -middle), arith.SumUp(middle, -v.Lo))
			}
		}
		if k == 0 {
			return lo, hi, wide
		}
		out, mean := len(of), l.layers[k].Weight.Mean
		next, varies := make([]arith.Interval, l.layers[k].Inputs()), make([]bool, l.layers[k].Inputs())
		for j := range next {
			on := c.on[k-1][j]
			if on.Hi == 0 {
				continue
			}
			var least, most arith.Sum
			for o, v := range of {
				w := mean[j*out+o]
				least.Add(arith.LeastProduct(v.Lo, v.Hi, w, w))
				most.Add(arith.MostProduct(v.Lo, v.Hi, w, w))
				varies[j] = varies[j] || vary[o] && w != 0
			}
			next[j] = arith.Of(least.Lo(), most.Hi())
			if on.Lo == 0 {
				next[j], varies[j] = arith.Of(min(0, next[j].Lo), max(0, next[j].Hi)), true
			}
		}
		of, vary = next, varies
	}
}

// unit returns what the noise of output o of layer k does.
func (l *Linearised) unit(c *LinearisedCell, k, o int) unitNoise {
	u, known := c.units[[2]int{k, o}]
	if known {
		return u
	}
	a := make([][]float64, len(l.layers))
	a[k] = make([]float64, l.layers[k].Outputs())
	a[k][o] = 1
	u = unitNoise{math.Inf(1), math.Inf(1)}
	if n := l.blocks.Noise(a, a, c.lines); n != nil {
		var sum arith.Sum
		sum.Plus(gauss.AbsMeanUp(0, arith.Up(math.Sqrt(n.Centre))))
		for i, radius := range c.lines.Radius {
			if radius != 0 {
				sum.Add(gauss.AbsMeanUp(0, n.Along[i]), radius)
			}
		}
		for j, half := range c.lines.Half[k] {
			if half != 0 {
				sum.Add(gauss.AbsMeanUp(0, n.Sd[k][j]), half)
			}
		}
		u = unitNoise{sum.Hi(), arith.Up(math.Sqrt(n.Variance))}
	}
	c.units[[2]int{k, o}] = u
	return u
}
