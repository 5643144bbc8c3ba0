package covary

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/model/posterior"
)

// Noise that all layers have in common (docs/theory.md (92b)): SWAG's W = mean + D e + P z. D e is that
// Of independent weights, and P z one more level, below all others. A joint covariance has no D, and P z is
// its only level.

// Common is P, as columns over the entries of each layer's [W b], and what it is multiplied by, rounded up.
type Common struct {
	Rank   int
	factor float64
	// Of[k] is [rank][out x (in+1)].
	Of [][][]float64
	In []int
	// Alone reports whether there is no D.
	Alone bool
}

func NewCommon(post *posterior.Posterior) *Common {
	s := post.SWAG()
	if joint := post.Joint(); joint != nil {
		return newJoint(post, joint)
	}
	if s == nil {
		return nil
	}
	c := &Common{Rank: s.Rank, factor: arith.Up(arith.SqrtUp(arith.Up(1 / float64(2*(s.Rank-1)))))}
	for k := range post.Layers {
		in, out := post.Layers[k].Inputs(), post.Layers[k].Outputs()
		var columns [][]float64
		for r := range s.Rank {
			column := make([]float64, out*(in+1))
			for o := range out {
				for j := range in {
					column[o*(in+1)+j] = s.Deviation[2*k][r*in*out+j*out+o]
				}
				if b := s.Deviation[2*k+1]; len(b) > 0 {
					column[o*(in+1)+in] = b[r*out+o]
				}
			}
			columns = append(columns, column)
		}
		c.Of, c.In = append(c.Of, columns), append(c.In, in)
	}
	return c
}

// newJoint makes the joint of factors of all layers: column r has entry e at e rank + r.
func newJoint(post *posterior.Posterior, joint []*posterior.Covariance) *Common {
	c := &Common{Rank: post.JointRank(), factor: 1, Alone: true}
	for k, f := range joint {
		in, out := post.Layers[k].Inputs(), post.Layers[k].Outputs()
		columns := make([][]float64, c.Rank)
		for r := range columns {
			columns[r] = make([]float64, out*(in+1))
			for e := range columns[r] {
				if f != nil {
					columns[r][e] = f.Factor[e*c.Rank+r]
				}
			}
		}
		c.Of, c.In = append(c.Of, columns), append(c.In, in)
	}
	return c
}

// Sds are upper bounds of the deviations of single entries of layer k's [W b], from those that are their
// own: of weights as layers have them, and of the biases.
func (c *Common) Sds(k int, weight, bias []float64) (w, b []float64) {
	in, out := c.In[k], len(bias)
	w, b = make([]float64, len(weight)), make([]float64, len(bias))
	sd := func(own float64, e int) float64 {
		var s arith.Sum
		s.Add(arith.Up(own), arith.Up(own))
		still := own == 0
		for _, column := range c.Of[k] {
			x := arith.Up(math.Abs(column[e]) * c.factor)
			s.Add(x, x)
			still = still && column[e] == 0
		}
		if still {
			return 0
		}
		return arith.SqrtUp(s.Hi())
	}
	for o := range out {
		for j := range in {
			w[j*out+o] = sd(weight[j*out+o], o*(in+1)+j)
		}
		b[o] = sd(bias[o], o*(in+1)+in)
	}
	return w, b
}

// Gone holds what a row has met of P z on its way down: of each column the sum of the layers' middles, and of
// what they may be off by over the boxes; and sum_j h_j sd_j.
type Gone struct {
	*Common
	middle []arith.Interval
	apart  []arith.Sum
	own    arith.Sum
	// unknown reports whether numbers are out of range.
	unknown bool
	// b are the coefficients of z in what varies, by half-widths h, of a joint covariance.
	b []arith.Interval
	h []float64
}

func (c *Common) Start() *Gone {
	return &Gone{Common: c, middle: make([]arith.Interval, c.Rank), apart: make([]arith.Sum, c.Rank)}
}

// Clone is nil of nil.
func (g *Gone) Clone() *Gone {
	if g == nil {
		return nil
	}
	n := *g
	n.middle, n.apart = append([]arith.Interval(nil), g.middle...), append([]arith.Sum(nil), g.apart...)
	n.b, n.h = slices.Clone(g.b), slices.Clone(g.h)
	return &n
}

// Meet adds layer k, of whose outputs the row has coefficients in [lo, hi].
func (g *Gone) Meet(k int, lo, hi []float64, box FedBox) {
	g.meet(g.entries(k, lo, hi), box)
}

// meet is Meet with what entries returns.
func (g *Gone) meet(entries []arith.Interval, box FedBox) {
	if entries == nil || !InRange(box.C, box.H) {
		g.unknown = true
		return
	}
	n := len(box.C)
	for j := range n {
		var square arith.Sum
		for t, b := range entries[j*g.Rank : (j+1)*g.Rank] {
			g.middle[t] = g.middle[t].Plus(b.Times(arith.Exactly(box.C[j])))
			if g.Alone && j < n-1 && box.H[j] != 0 {
				g.b = append(g.b, b)
			}
			if j < n-1 {
				g.apart[t].Add(b.Size(), box.H[j])
				square.Add(b.Size(), b.Size())
			}
		}
		if g.Alone && j < n-1 && box.H[j] != 0 {
			g.h = append(g.h, box.H[j])
		}
		if j < n-1 && box.H[j] != 0 {
			g.own.Add(arith.SqrtUp(max(0, square.Hi())), box.H[j])
		}
	}
}

// entries bounds the row's coefficients of input j, and of 1, in each column: at j rank and on. They are sums over the
// outputs that have a coefficient, which of one neuron is one. It is nil where numbers are out of range.
func (c *Common) entries(k int, lo, hi []float64) []arith.Interval {
	n, same := c.In[k]+1, slices.Equal(lo, hi)
	if !InRange(lo, hi) {
		return nil
	}
	list := make([]arith.Interval, n*c.Rank)
	least, most := make([]arith.Sum, n), make([]arith.Sum, n)
	for t, of := range c.Of[k] {
		clear(least)
		clear(most)
		for o := range lo {
			if lo[o] == 0 && hi[o] == 0 {
				continue
			}
			column := of[o*n : (o+1)*n]
			if !InRange(column) {
				return nil
			}
			for j, v := range column {
				if same {
					least[j] = least[j].With(lo[o], v)
					continue
				}
				least[j].Add(arith.LeastProduct(lo[o], hi[o], v, v))
				most[j].Add(arith.MostProduct(lo[o], hi[o], v, v))
			}
		}
		if same {
			copy(most, least)
		}
		for j := range list[:n] {
			list[j*c.Rank+t] = arith.Of(least[j].Lo(), most[j].Hi())
		}
	}
	return list
}

// Noise bounds P z in the row over the boxes.
func (g *Gone) Noise() law.Noise {
	if g.unknown {
		return law.Noise{Mean: arith.Inf, Variance: arith.Inf}
	}
	var all, centre arith.Sum
	for t, m := range g.middle {
		x := arith.SumUp(m.Size(), max(0, g.apart[t].Hi()))
		all.Add(x, x)
		centre.Add(m.Size(), m.Size())
	}
	own := max(0, g.own.Hi())
	root := arith.SumUp(arith.SqrtUp(max(0, centre.Hi())), own)
	v := min(max(0, all.Hi()), arith.ProductUp(root, root), g.form(max(0, centre.Hi())))
	return law.Noise{Mean: law.TimesSqrt2OverPiUp(arith.Up(own * g.factor)), Variance: arith.Up(arith.Up(v*g.factor) * g.factor)}
}

// mostCommonForm is for how many numbers that vary, and how many products, a row's form is made: more than of
// certify's.
const (
	mostCommonForm = 72
	mostCommonWork = 1 << 21
)

// form is (92), centre being at least the variance at the middle; +Inf where it is too large to be made.
func (g *Gone) form(centre float64) float64 {
	n, m := len(g.h), g.Rank
	if n == 0 || n > mostCommonForm || n*n*m > mostCommonWork {
		return arith.Inf
	}
	r := &TopRow{N: n, K: make([]float64, n*n), Delta: make([]float64, n)}
	r.square(g.b, slices.Repeat([]arith.Interval{arith.Exactly(1)}, m))
	var first arith.Sum
	for j, h := range g.h {
		var w arith.Interval
		for t, u := range g.middle {
			w = w.Plus(g.b[j*m+t].Times(u))
		}
		first.Add(w.Size(), h)
	}
	return FormOf(centre, max(0, first.Hi()), r.FormUp(g.h))
}

// Unit returns what layer k alone does to output i with P z, and the variance of what it adds to how far that
// varies at most.
func (c *Common) Unit(k, i, out int, box FedBox, radius []float64) (own law.Noise, varies float64) {
	row := make([]float64, out)
	row[i] = 1
	entries := c.entries(k, row, row)
	g, v := c.Start(), c.Start()
	g.meet(entries, box)
	v.meet(entries, around(radius))
	return g.Noise(), v.Noise().Variance
}
