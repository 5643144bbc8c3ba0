package covary

import (
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/law"
	"psafe/host/check/relax"
)

// Convolutions with a Kronecker covariance (docs/theory.md, section 5.6): one matrix of
// taps and filters, whose weights depend on each other, at every position.

// boxOf returns the box of z, which most rows have in common.
func (v *Covaried) boxOf(z relax.Span) *convBox {
	v.mutex.Lock()
	defer v.mutex.Unlock()
	if b := v.last; b != nil && slices.Equal(b.z.Lo, z.Lo) && slices.Equal(b.z.Hi, z.Hi) {
		return b
	}
	b := &convBox{z: z}
	all, n := FedBoxOf(z), v.In+1
	for p := range v.at.Positions {
		box := FedBox{make([]float64, v.In, n), make([]float64, v.In)}
		for t, q := range v.at.Under(p) {
			if q >= 0 {
				box.C[t], box.H[t] = all.C[q], all.H[q]
			}
		}
		box.C = append(box.C, 1)
		turned := make([]arith.Interval, n)
		for j := range turned {
			var s arith.Sum
			for t, x := range box.C {
				if x != 0 {
					s.Add(v.Covariance.QA[t*n+j], x)
				}
			}
			turned[j] = arith.Of(s.Lo(), s.Hi())
		}
		b.under, b.turned = append(b.under, box), append(b.turned, turned)
	}
	v.last = b
	return b
}

// atPositions calls the form of each output over what lies under its position.
func (v *Covaried) atPositions(under func(p int) FedBox) []float64 {
	list := make([]float64, 0, v.at.Positions*v.Out)
	for p := range v.at.Positions {
		box := under(p)
		for _, u := range v.units {
			list = append(list, u.varianceUp(box))
		}
	}
	return list
}

// ofConvUnits is OfUnits.
func (v *Covaried) ofConvUnits(z relax.Span) []float64 {
	if !InRange(z.Lo, z.Hi) {
		return slices.Repeat([]float64{arith.Inf}, v.at.Positions*v.Out)
	}
	b := v.boxOf(z)
	return v.atPositions(func(p int) FedBox { return b.under[p] })
}

// ofConvVariation is OfVariation.
func (v *Covaried) ofConvVariation(radius []float64) []float64 {
	return v.atPositions(func(p int) FedBox {
		h := make([]float64, v.In)
		for t, q := range v.at.Under(p) {
			if q >= 0 {
				h[t] = radius[q]
			}
		}
		return around(h)
	})
}

// spot is one of a row's positions, p, with A_p QG: its middle and what that is off by.
type spot struct {
	p      int
	u, off []float64
}

// spots are the positions where a row is not 0.
func (v *Covaried) spots(lo, hi []float64) (list []spot) {
	for p := range v.at.Positions {
		lo, hi := lo[p*v.Out:(p+1)*v.Out], hi[p*v.Out:(p+1)*v.Out]
		if !anyNot0(lo) && !anyNot0(hi) {
			continue
		}
		s := spot{p, make([]float64, v.Out), make([]float64, v.Out)}
		for i := range v.Out {
			var least, most arith.Sum
			for o := range v.Out {
				q := v.Covariance.QG[o*v.Out+i]
				least.Add(arith.LeastProduct(lo[o], hi[o], q, q))
				most.Add(arith.MostProduct(lo[o], hi[o], q, q))
			}
			u := arith.Of(least.Lo(), most.Hi())
			s.u[i], s.off[i] = u.Middle(), u.Radius()
		}
		list = append(list, s)
	}
	return list
}

// ofConvRow is OfRow: sum_p A_p [W b] z~_p for the same W and b at all positions. Its variance is that of
// sum_ij Sd_ij E_ij g_ij, g_ij = sum_p (A_p QG)_i (QA'z~_p)_j.
func (v *Covaried) ofConvRow(lo, hi, radius []float64, z relax.Span) law.Noise {
	if !InRange(lo, hi, z.Lo, z.Hi, radius, v.Covariance.QA, v.Covariance.QG, v.Covariance.Sd) {
		return law.Noise{Mean: arith.Inf, Variance: arith.Inf}
	}
	box, list, n := v.boxOf(z), v.spots(lo, hi), v.In+1
	g, wrong := make([]float64, v.Out*n), make([]float64, v.Out*n)
	for _, s := range list {
		for j, t := range box.turned[s.p] {
			mid, off := t.Middle(), t.Radius()
			for i, u := range s.u {
				g[i*n+j] += float64(u * mid)
				wrong[i*n+j] += float64(math.Abs(u)*(off+Loose(len(list))*math.Abs(mid))) + float64(s.off[i]*(math.Abs(mid)+off))
			}
		}
	}
	grow := 1 + Loose(4*(len(list)+len(g)+len(radius)))
	centre := 0.0
	for e, sd := range v.Covariance.Sd {
		wrong[e] = float64(wrong[e]*grow) + TopTiny
		x := float64((math.Abs(g[e]) + wrong[e]) * sd)
		centre += float64(x * x)
	}
	c := &convCoefficients{Covaried: v, box: box, spots: list, g: g, wrong: wrong, grow: grow}
	mean, first, second, moves := c.sums(radius)
	variance := arith.Up(float64(centre*grow) + TopTiny)
	if moves {
		variance = FormOf(variance, first, second)
	}
	if math.IsNaN(variance) || math.IsNaN(mean) {
		return law.Noise{Mean: arith.Inf, Variance: arith.Inf}
	}
	return law.Noise{Mean: law.TimesSqrt2OverPiUp(mean), Variance: variance}
}

// convCoefficients goes over what a row gives each input of a convolution.
type convCoefficients struct {
	*Covaried
	box      *convBox
	spots    []spot
	g, wrong []float64
	grow     float64
}

// sums are that of the deviation of each input's coefficient times its radius, and of (92) what the form
// changes by in first order and its largest value of the half-widths. An input's coefficient is all that the
// places give it that see it, since their taps depend on each other. The form is bounded in the ways that certify
// has and in no other: a better bound would choose other lines of max pools and activations, which may be worse.
func (c *convCoefficients) sums(radius []float64) (mean, first, second float64, moves bool) {
	n, all := c.Covaried.In+1, FedBoxOf(c.box.z)
	places := make([][][2]int, len(all.H)) // spot and tap
	for a, s := range c.spots {
		for t, q := range c.at.Under(s.p) {
			if q >= 0 && (all.H[q] != 0 || radius[q] != 0) {
				places[q] = append(places[q], [2]int{a, t})
			}
		}
	}
	of, off := make([]float64, len(c.g)), make([]float64, len(c.g))
	row := 0.0
	for q, list := range places {
		if list == nil {
			continue
		}
		moves = moves || all.H[q] != 0
		clear(of)
		clear(off)
		share := Loose(len(list))
		for _, at := range list {
			s, tap := &c.spots[at[0]], c.Covariance.QA[at[1]*n:(at[1]+1)*n]
			for i, u := range s.u {
				wrong := s.off[i] + float64(share*math.Abs(u))
				if u == 0 && wrong == 0 {
					continue
				}
				of, off := of[i*n:(i+1)*n], off[i*n:(i+1)*n]
				for j, x := range tap {
					of[j] += float64(u * x)
					off[j] += float64(wrong * math.Abs(x))
				}
			}
		}
		square, dot, err := 0.0, 0.0, 0.0
		for e, sd := range c.Covariance.Sd {
			more := float64(off[e] * c.grow)
			most := math.Abs(of[e]) + more
			x := float64(most * sd)
			y := float64(c.g[e] * sd)
			square += float64(x * x)
			dot += float64(float64(of[e]*sd) * y)
			err += float64(float64(more*sd)*math.Abs(y)) + float64(float64(c.wrong[e]*sd)*x) + float64(Loose(len(of))*float64(x*math.Abs(y))) + float64(4*x*arith.Eta)
		}
		sd := arith.SqrtUp(arith.Up(float64(square*c.grow) + TopTiny))
		mean += float64(sd * radius[q])
		row += float64(sd * all.H[q])
		first += float64((math.Abs(dot) + float64(err*c.grow) + TopTiny) * all.H[q])
	}
	row = float64(row*c.grow) + TopTiny
	second = min(arith.ProductUp(row, row), c.byFilters())
	return float64(mean*c.grow) + TopTiny, float64(first*c.grow) + TopTiny, second, moves
}

// byFilters bounds the form over the half-widths by the largest Sd of each row, and by the largest eigenvalue
// of QA QA'.
func (c *convCoefficients) byFilters() float64 {
	n, sum := c.Covaried.In+1, 0.0
	for i := range c.Out {
		largest, square := 0.0, 0.0
		for _, sd := range c.Covariance.Sd[i*n : (i+1)*n] {
			largest = max(largest, sd)
		}
		reach := make([]float64, n-1)
		for _, s := range c.spots {
			u := math.Abs(s.u[i]) + s.off[i]
			for t, h := range c.box.under[s.p].H {
				reach[t] += float64(u * h)
			}
		}
		for _, x := range reach {
			x = float64((x + TopTiny) * largest)
			square += float64(x * x)
		}
		sum += square
	}
	return arith.Up(arith.ProductUp(float64(sum*c.grow)+TopTiny, c.norm) + TopTiny)
}
