package chernoff

import (
	"errors"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

const (
	// mostWork is how many products the moment of a row may take above the first layer.
	mostWork = 1 << 18
	// pieceWork is how much more work a product is where neurons have pieces.
	pieceWork = 16
	// mostPlanes is how many planes the statements about neurons may have, which are in the record.
	mostPlanes = 1 << 16
)

// Fits returns in one line why this method is none for a posterior; nil if it is one.
func Fits(p *posterior.Posterior) error {
	if err := p.RequireIndependent(); err != nil {
		return err
	}
	if len(p.Layers) < 2 || !p.Network().Chain() {
		return errors.New("exact moments are for chains of dense layers, some of them hidden: use --method clbp")
	}
	work, planes, below := 0, 0, 0
	for k, l := range p.Layers[:len(p.Layers)-1] {
		if l.Activation.Lipschitz() > 1 {
			return errors.New("exact moments are for activations that are nowhere steeper than 1: use --method clbp")
		}
		if k > 0 {
			each := 1
			if !isReLU(l.Activation) || !isReLU(p.Layers[k-1].Activation) {
				each = pieceWork
			}
			work, planes, below = work+each*len(l.Weight.Mean), planes+events*l.Outputs()*below, below+l.Outputs()
		}
	}
	if work > mostWork || planes > mostPlanes {
		return errors.New("exact moments would take too long for a network so large: use --method clbp")
	}
	return nil
}

// isReLU reports whether an activation is max(t, 0).
func isReLU(a network.Activation) bool {
	_, kinked := a.Kinked()
	return kinked && a.DeadBelow()
}

// layer is a dense layer: numbers of weights are [in x out].
type layer struct {
	in, out            int
	act                network.Activation
	relu               bool // act is
	mean, sdHi         []float64
	squareLo, squareHi []float64 // of standard deviations
	bias, biasSdHi     []float64
	biasLo, biasHi     []float64 // squares
}

// chain is a network with independent normal weights: hidden layers, and a last one.
type chain struct {
	hidden []*layer
	last   *layer
	// quick has rates of statements found by factors of two alone.
	quick bool
}

func newChain(p *posterior.Posterior) *chain {
	c := &chain{}
	for k := range p.Layers {
		l := &p.Layers[k]
		n := &layer{in: l.Inputs(), out: l.Outputs(), mean: l.Weight.Mean, sdHi: l.Weight.SdHi, bias: l.Bias.Mean, biasSdHi: l.Bias.SdHi, act: l.Activation, relu: isReLU(l.Activation)}
		n.squareLo, n.squareHi = squares(l.Weight.SdLo, l.Weight.SdHi)
		n.biasLo, n.biasHi = squares(l.Bias.SdLo, l.Bias.SdHi)
		if k == len(p.Layers)-1 {
			c.last = n
		} else {
			c.hidden = append(c.hidden, n)
		}
	}
	return c
}

// relu reports whether all hidden layers have ReLU.
func (c *chain) relu() bool {
	return !slices.ContainsFunc(c.hidden, func(l *layer) bool { return !l.relu })
}

// squares returns the squares of non-negative numbers, rounded outward.
func squares(lo, hi []float64) (down, up []float64) {
	for i := range lo {
		s := arith.Of(lo[i], hi[i]).Square()
		down, up = append(down, s.Lo), append(up, s.Hi)
	}
	return down, up
}

// head is a row of the property on the outputs z of the last hidden layer: it is at least
// sum a_j z_j + c + noise, with independent normal noise of variance at most sum s_j z_j^2 + sb, given z, and
// at least the same of sLo_j and sbLo; with aHi_j in the place of a_j where z_j < 0.
type head struct {
	a, aHi, s, sLo []float64
	c, sb, sbLo    float64
	// reach_j is above which the magnitude of coefficient j is in no wide draw.
	reach []float64
}

func (c *chain) head(row *property.Row) *head {
	l := c.last
	h := &head{}
	least, square := func(mean func(o int) float64, more float64) float64 {
		var s arith.Sum
		s.Plus(more)
		for o := range l.out {
			m := mean(o)
			s.Add(arith.LeastProduct(row.CLo[o], row.CHi[o], m, m))
		}
		return s.Lo()
	}, func(square func(o int) float64) float64 {
		var s arith.Sum
		for o := range l.out {
			s.Add(arith.Of(row.CLo[o], row.CHi[o]).Square().Hi, square(o))
		}
		return s.Hi()
	}
	fewest := func(square func(o int) float64) float64 {
		var s arith.Sum
		for o := range l.out {
			s.Add(arith.Of(row.CLo[o], row.CHi[o]).Square().Lo, square(o))
		}
		return max(0, s.Lo())
	}
	for j := range l.in {
		mean := func(o int) float64 { return l.mean[j*l.out+o] }
		h.a, h.aHi = append(h.a, least(mean, 0)), append(h.aHi, most(row, l.out, mean))
		h.s = append(h.s, square(func(o int) float64 { return l.squareHi[j*l.out+o] }))
		h.sLo = append(h.sLo, fewest(func(o int) float64 { return l.squareLo[j*l.out+o] }))
		var reach arith.Sum
		for o := range l.out {
			reach.Add(max(math.Abs(row.CLo[o]), math.Abs(row.CHi[o])), l.reach(j, o))
		}
		h.reach = append(h.reach, reach.Hi())
	}
	h.c, h.sb = least(func(o int) float64 { return l.bias[o] }, row.D), square(func(o int) float64 { return l.biasHi[o] })
	h.sbLo = fewest(func(o int) float64 { return l.biasLo[o] })
	return h
}

// most is at least what a row makes of numbers.
func most(row *property.Row, n int, of func(o int) float64) float64 {
	var s arith.Sum
	for o := range n {
		x := of(o)
		s.Add(arith.MostProduct(row.CLo[o], row.CHi[o], x, x))
	}
	return s.Hi()
}

// wide is the number of standard deviations that no weight is from its mean in a draw that is not
// wide: a single weight is with probability 2 Q(wide), which is below every float64.
const wide = 38.6

// reach is above which the magnitude of a weight is in no draw but wide ones.
func (l *layer) reach(j, o int) float64 {
	at := j*l.out + o
	return arith.SumUp(math.Abs(l.mean[at]), arith.Up(wide*l.sdHi[at]))
}
