package chernoff

import (
	"errors"
	"math"

	"psafe/host/arith"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

const (
	// mostWork is how many products the moment of a row may take above the first layer.
	mostWork = 1 << 18
	// mostPlanes is how many planes the statements about neurons may have, which are in the record.
	mostPlanes = 1 << 16
)

// Fits says in one line why this method is none for a posterior; nil if it is one.
func Fits(p *posterior.Posterior) error {
	if err := p.RequireIndependent(); err != nil {
		return err
	}
	if len(p.Layers) < 2 || !p.Network().Chain() {
		return errors.New("exact moments are for chains of dense layers, some of them hidden: use --method clbp")
	}
	work, planes, below := 0, 0, 0
	for k, l := range p.Layers[:len(p.Layers)-1] {
		if _, kinked := l.Activation.Kinked(); !kinked || !l.Activation.DeadBelow() {
			return errors.New("exact moments are for hidden layers with ReLU: use --method clbp")
		}
		if k > 0 {
			work, planes, below = work+len(l.Weight.Mean), planes+events*l.Outputs()*below, below+l.Outputs()
		}
	}
	if work > mostWork || planes > mostPlanes {
		return errors.New("exact moments would take too long for a network so large: use --method clbp")
	}
	return nil
}

// layer is a dense layer: numbers of weights are [in x out].
type layer struct {
	in, out            int
	mean, sdHi         []float64
	squareLo, squareHi []float64 // of standard deviations
	bias, biasSdHi     []float64
	biasLo, biasHi     []float64 // squares
}

// chain is a network with independent normal weights: hidden layers with ReLU, and a last one.
type chain struct {
	hidden []*layer
	last   *layer
}

func newChain(p *posterior.Posterior) *chain {
	c := &chain{}
	for k := range p.Layers {
		l := &p.Layers[k]
		n := &layer{in: l.Inputs(), out: l.Outputs(), mean: l.Weight.Mean, sdHi: l.Weight.SdHi, bias: l.Bias.Mean, biasSdHi: l.Bias.SdHi}
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

// squares are those of non-negative numbers, rounded outward.
func squares(lo, hi []float64) (down, up []float64) {
	for i := range lo {
		s := arith.Of(lo[i], hi[i]).Square()
		down, up = append(down, s.Lo), append(up, s.Hi)
	}
	return down, up
}

// head is a row of the property on the outputs z of the last hidden layer: it is at least
// sum a_j z_j + c + noise, with independent normal noise of variance at most sum s_j z_j^2 + sb, given z, and
// at least the same of sLo_j and sbLo.
type head struct {
	a, s, sLo   []float64
	c, sb, sbLo float64
	// reach_j is above which the magnitude of coefficient j is in no wide draw.
	reach []float64
}

func (c *chain) head(row *property.Row) *head {
	l := c.last
	h := &head{}
	least, most := func(mean func(o int) float64, more float64) float64 {
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
		h.a = append(h.a, least(func(o int) float64 { return l.mean[j*l.out+o] }, 0))
		h.s = append(h.s, most(func(o int) float64 { return l.squareHi[j*l.out+o] }))
		h.sLo = append(h.sLo, fewest(func(o int) float64 { return l.squareLo[j*l.out+o] }))
		var reach arith.Sum
		for o := range l.out {
			reach.Add(max(math.Abs(row.CLo[o]), math.Abs(row.CHi[o])), l.reach(j, o))
		}
		h.reach = append(h.reach, reach.Hi())
	}
	h.c, h.sb = least(func(o int) float64 { return l.bias[o] }, row.D), most(func(o int) float64 { return l.biasHi[o] })
	h.sbLo = fewest(func(o int) float64 { return l.biasLo[o] })
	return h
}

// wide is how many standard deviations no weight is from its mean in a draw that is not wide: a
// single weight is with probability 2 Q(wide), which is below every float64.
const wide = 38.6

// reach is above which the magnitude of a weight is in no draw but wide ones.
func (l *layer) reach(j, o int) float64 {
	at := j*l.out + o
	return arith.SumUp(math.Abs(l.mean[at]), arith.Up(wide*l.sdHi[at]))
}
