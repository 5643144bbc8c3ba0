package phases

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas/blas64"

	"psafe/host/prove/branch"
)

// Lower slopes and multipliers are raised by projected gradient ascent with moments (Adam), as those
// of one network are (package branch): here for the number of standard deviations that a row is above 0.

const (
	ascentRate  = 0.25
	ascentDecay = 0.97
	// momentOne and momentTwo are Adam's.
	momentOne, momentTwo = 0.9, 0.999
	// rootRounds and childRounds are how many steps the whole box and a part get.
	rootRounds, childRounds = 60, 12
)

// climb raises the scores of nodes by so many steps, fewer if ctx ends, and leaves each what was best.
func (n *meanNet) climb(ctx context.Context, nodes []*node, rounds int) {
	d := n.descentOf(nodes)
	first, second := d.slopes(), d.slopes()
	for k := range rounds + 1 {
		d.down()
		for r, node := range nodes {
			if d.score[r] > node.score {
				node.keep(d, r)
			}
		}
		if k == rounds || ctx.Err() != nil {
			return
		}
		d.up()
		d.step(k, first, second)
	}
}

// slopes are as many zeros as there are slopes.
func (d *descent) slopes() (list []blas64.General) {
	for _, a := range d.alpha {
		list = append(list, matrix(a.Rows, a.Cols))
	}
	return list
}

// step moves slopes and multipliers along the gradient.
func (d *descent) step(round int, first, second []blas64.General) {
	one, two := 1-math.Pow(momentOne, float64(round+1)), 1-math.Pow(momentTwo, float64(round+1))
	rate := ascentRate * math.Pow(ascentDecay, float64(round))
	for k := range d.alpha {
		scale := d.scales(k)
		for _, n := range d.net.open {
			if n.layer != k {
				continue
			}
			for r := range d.row {
				at := r*d.alpha[k].Cols + n.unit
				f, s, g := d.phase[k].Data[at], d.s[k].Data[at], d.gradient[k].Data[at]
				if f != 0 {
					g = -f * g
				} else {
					g *= max(s, 0)
				}
				m := momentOne*first[k].Data[at] + (1-momentOne)*g
				v := momentTwo*second[k].Data[at] + (1-momentTwo)*g*g
				first[k].Data[at], second[k].Data[at] = m, v
				by := rate * (m / one) / (math.Sqrt(v/two) + 1e-30)
				if f != 0 {
					d.beta[k].Data[at] = branch.ToMultiplier(finiteOr(max(d.beta[k].Data[at]+scale[r]*by, 0), d.beta[k].Data[at]))
				} else {
					d.alpha[k].Data[at] = branch.ToSlope(finiteOr(min(max(d.alpha[k].Data[at]+by, 0), 1), d.alpha[k].Data[at]))
				}
			}
		}
	}
}

// scales returns what multipliers of layer k are measured by: the mean size of the coefficients of each row.
func (d *descent) scales(k int) []float64 {
	s := d.s[k]
	scale := make([]float64, s.Rows)
	for at, v := range s.Data {
		scale[at/s.Cols] += math.Abs(v) / float64(s.Cols)
	}
	return scale
}

// finiteOr is v, or the other number where v is none that every device has.
func finiteOr(v, other float64) float64 {
	if math.Abs(v) <= math.MaxFloat32/2 {
		return v
	}
	return other
}
