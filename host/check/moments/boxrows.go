package moments

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/arith/gauss"
	"psafe/host/check/law"
	"psafe/host/check/relax"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

const (
	// statedShare is the part of tau that statements about how far neurons move fail with.
	statedShare = 1.0 / 64
	// shareUnits is how many parts of a difference shares are told in.
	shareUnits = 128
)

// spread says that rows were bounded by their middles and by differences.
func spread(rows []Row) bool {
	for _, r := range rows {
		if r.Rate > 0 && len(r.Shares) > 0 {
			return true
		}
	}
	return false
}

// fitBox compares sizes of what rows have on boxes.
func (c *Chain) fitBox(rows []Row) error {
	neurons := 0
	for k := range len(c.layers) - 1 {
		neurons += c.layers[k].Outputs()
	}
	for r, row := range rows {
		if row.Rate == 0 {
			continue
		}
		if len(row.Shares) != neurons || !(row.Budget > 0 && row.Budget < 1) {
			return fmt.Errorf("row %d has the budget %v and %d shares for %d neurons", r, row.Budget, len(row.Shares), neurons)
		}
		for _, s := range row.Shares {
			if s > shareUnits {
				return fmt.Errorf("row %d has a share of %d, they are up to %d", r, s, shareUnits)
			}
		}
	}
	return nil
}

// moving is what is known of a box: of its middle, and how far from there neurons move in it.
type moving struct {
	*around
	radius []float64
	// reach are how far pre-activations of each hidden layer move, vary the variances of its weights, from above.
	reach, vary [][]float64
	// onto is 1 of the first layer's neurons that are on in the whole box, 0 of those that are off, 1/2 of the others.
	onto []float64
	// squares are, for neuron j of the second layer and input k at j*inputs+k, at least the mean square of
	// sum_i W^2_ji onto_i W^1_ik; weight is above the sum over k of radius_k times the length of (onto_i W^1_ik)_i.
	squares []float64
	weight  float64
}

// boxTails is tails for rows that were bounded by differences.
func (c *Chain) boxTails(ctx context.Context, box property.Box, of []property.Row, tau float64, p *Proof) (*around, []float64, error) {
	rows := p.Rows
	if err := c.fitBox(rows); err != nil {
		return nil, nil, err
	}
	if len(c.layers) > 3 || slices.ContainsFunc(c.layers[:len(c.layers)-1], func(l posterior.Layer) bool { return !plain(l.Activation) }) {
		return nil, nil, errors.New("differences over a box are for networks with one or two hidden layers of ReLU")
	}
	m, err := c.moving(ctx, box, tau, p.Statements)
	if err != nil {
		return nil, nil, err
	}
	tails := make([]float64, len(rows))
	err = fault.OnCores(ctx, len(rows), func(r int) {
		tails[r] = 1
		if rows[r].Rate > 0 {
			tails[r] = min(1, arith.Up(rows[r].Budget+arith.ExpUp(m.boxTailLogUp(&of[r], rows[r]))))
		}
	})
	return m.around, tails, err
}

// moving bounds what is below the last layer.
func (c *Chain) moving(ctx context.Context, box property.Box, tau float64, stated []Row) (*moving, error) {
	m, middle := &moving{radius: relax.RadiusOf(box)}, relax.CentresOf(box)
	var err error
	if m.around, err = c.around(ctx, property.Box{Lo: middle, Hi: middle}, tau, stated); err != nil {
		return nil, err
	}
	for k := range len(c.layers) - 1 {
		w := &c.layers[k].Weight
		vary := make([]float64, len(w.Mean))
		for at := range vary {
			vary[at] = variance(w, at).Hi
		}
		m.vary = append(m.vary, vary)
	}
	one := law.NoiseQuantileUp(tau*statedShare, 1)
	statements := c.layers[0].Outputs()
	m.reach = [][]float64{m.firstReach(one)}
	if len(c.layers) == 3 {
		m.sides(tau)
		statements += 1 + 2*c.layers[1].Outputs()
		m.weight = m.weightUp(one)
		m.squares = make([]float64, c.layers[1].Outputs()*len(m.radius))
		m.reach = append(m.reach, make([]float64, c.layers[1].Outputs()))
		two := law.NoiseQuantileUp(tau*statedShare, 2)
		if err := fault.OnCores(ctx, len(m.reach[1]), func(j int) { m.reach[1][j] = m.secondReach(j, two) }); err != nil {
			return nil, err
		}
	}
	m.failUp = arith.SumUp(m.failUp, arith.ProductUp(float64(statements), arith.ProductUp(tau, statedShare)))
	for k, list := range m.reach {
		for i, reach := range list {
			if !(reach <= math.MaxFloat64) {
				return nil, fmt.Errorf("neuron %d of hidden layer %d moves by no bound in the box", i, k)
			}
		}
	}
	return m, nil
}

// coarser is a number of 24 digits at or above x >= 0, so that its products with shares are exact; 0 if x is, and no
// other one that is so small that they would not be.
func coarser(x float64) float64 {
	const digits, least = 24, 0x1p-149
	if x > 0 {
		x = max(x, least)
	}
	f, e := math.Frexp(x)
	return math.Ldexp(math.Ceil(math.Ldexp(f, digits)), e-digits)
}

// rootOf is at or above the root.
func rootOf(x float64) float64 { return arith.Of(0, max(0, x)).Sqrt().Hi }

// firstReach is the statement sum_k |W_ik| radius_k for each neuron of the first layer.
func (m *moving) firstReach(q float64) []float64 {
	l := &m.layers[0]
	reach := make([]float64, l.Outputs())
	for i := range reach {
		var mean, v arith.Sum
		for k, r := range m.radius {
			if r > 0 {
				at := k*len(reach) + i
				mean.Add(gauss.AbsMeanUp(l.Weight.Mean[at], l.Weight.SdHi[at]), r)
				v.Add(m.vary[0][at], arith.Up(r*r))
			}
		}
		reach[i] = coarser(arith.SumUp(mean.Hi(), arith.Up(q*rootOf(v.Hi()))))
	}
	return reach
}

// sides says which neurons of the first layer are on one side in the whole box, and counts with which probability
// they are not.
func (m *moving) sides(tau float64) {
	for i, n := range m.neurons[0] {
		sd := n.variance.Sqrt()
		away := func(mean arith.Interval) float64 {
			room := mean.Minus(arith.Exactly(m.reach[0][i]))
			if !(room.Lo > 0) {
				return 1
			}
			return gauss.TailOfUp(arith.DDOf(room.Over(sd).Lo))
		}
		side, fails := 0.5, 0.0
		if on, off := away(n.mean), away(n.mean.Negated()); min(on, off) <= tau*(1+0x1p-20) {
			if side, fails = 0, off; on < off {
				side, fails = 1, on
			}
		}
		m.onto, m.failUp = append(m.onto, side), arith.SumUp(m.failUp, fails)
	}
}

// weightUp is the statement about the size of the first layer's weights.
func (m *moving) weightUp(q float64) float64 {
	l, n := &m.layers[0], m.layers[0].Outputs()
	var total, v arith.Sum
	for k, r := range m.radius {
		var square arith.Sum
		most := 0.0
		for i, side := range m.onto {
			at := k*n + i
			square.Add(side*side, arith.Up(arith.Up(l.Weight.Mean[at]*l.Weight.Mean[at])+m.vary[0][at]))
			most = max(most, arith.Up(side*side*m.vary[0][at]))
		}
		total.Add(r, rootOf(square.Hi()))
		v.Add(arith.Up(r*r), most)
	}
	return arith.SumUp(total.Hi(), arith.Up(q*rootOf(v.Hi())))
}

// secondReach is how far neuron j of the second layer moves one way.
func (m *moving) secondReach(j int, q float64) float64 {
	low, high := &m.layers[0], &m.layers[1]
	n, out, inputs := low.Outputs(), high.Outputs(), len(m.radius)
	var mean, v arith.Sum
	for i, side := range m.onto {
		if side > 0 {
			at, reach := i*out+j, m.reach[0][i]
			v.Add(m.vary[1][at], arith.Up(reach*reach))
			if side < 1 {
				mean.Add(math.Abs(high.Weight.Mean[at]), reach/2)
			}
		}
	}
	above := v.Hi()
	v = arith.Sum{}
	for k, r := range m.radius {
		var product, noise, own arith.Sum
		steepest := 0.0
		for i, side := range m.onto {
			if side == 0 {
				continue
			}
			at, w := i*out+j, k*n+i
			a, x := side*high.Weight.Mean[at], low.Weight.Mean[w]
			product = product.With(a, x)
			noise = noise.With(arith.Up(a*a), m.vary[0][w])
			own = own.With(m.vary[1][at], arith.Up(arith.Up(x*x)+m.vary[0][w]))
			steepest = max(steepest, arith.Up(m.vary[1][at]*m.vary[0][w]))
		}
		size := arith.Of(product.Lo(), product.Hi()).Size()
		m.squares[j*inputs+k] = arith.SumUp(arith.Up(size*size), arith.SumUp(noise.Hi(), own.Hi()))
		if r > 0 {
			sd := rootOf(noise.Hi())
			mean.Add(r, arith.SumUp(gauss.AbsMeanUp(size, sd), arith.Up(arith.Sqrt2OverPiUp*rootOf(own.Hi()))))
			slope := arith.SumUp(sd, arith.Up(arith.Sqrt2OverPiUp*rootOf(steepest)))
			v.Add(arith.Up(r*r), arith.Up(slope*slope))
		}
	}
	return coarser(arith.SumUp(mean.Hi(), arith.Up(q*rootOf(arith.SumUp(above, v.Hi())))))
}
