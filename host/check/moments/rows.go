package moments

import (
	"context"
	"fmt"
	"math"

	"psafe/host/arith"
	"psafe/host/check/cases"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
	"psafe/internal/fault"
)

// FailUp is an upper bound, at most 1, of Prob(f(x) is outside of S for some x of a box), by how the rows of S were
// bounded.
func (c *Chain) FailUp(ctx context.Context, box property.Box, s *property.Safe, tau float64, p *Proof) (float64, error) {
	a, tails, err := c.tails(ctx, box, s.Rows, tau, p)
	if err != nil {
		return 1, err
	}
	return cases.ImpliedUp(s, tails, a.failUp), nil
}

// SafeUp is an upper bound, at most 1, of Prob(f(x) in S) for each x of a box, by how the negated rows of S were bounded.
func (c *Chain) SafeUp(ctx context.Context, box property.Box, s *property.Safe, tau float64, p *Proof) (float64, error) {
	negated := cases.NegatedRows(s)
	a, tails, err := c.tails(ctx, box, negated.Rows, tau, p)
	if err != nil {
		return 1, err
	}
	return cases.RefutedUp(&negated, tails, a.failUp), nil
}

// tails bounds the probability of each row, and all statements: that it is <= 0 somewhere in the box.
func (c *Chain) tails(ctx context.Context, box property.Box, of []property.Row, tau float64, p *Proof) (*around, []float64, error) {
	if err := c.fit(of, p); err != nil {
		return nil, nil, err
	}
	rows := p.Rows
	if spread(rows) {
		return c.boxTails(ctx, box, of, tau, p)
	}
	a, err := c.around(ctx, box, tau, p.Statements)
	if err != nil {
		return nil, nil, err
	}
	tails := make([]float64, len(rows))
	err = fault.OnCores(ctx, len(rows), func(r int) {
		tails[r] = 1
		if rows[r].Rate > 0 {
			tails[r] = a.tailUp(&of[r], &rows[r])
		}
	})
	return a, tails, err
}

func (c *Chain) fit(of []property.Row, p *Proof) error {
	if len(p.Rows) != len(of) {
		return fmt.Errorf("%d rows for %d", len(p.Rows), len(of))
	}
	fits := func(what string, r int, row Row, planes int) error {
		if !(row.Rate >= 0 && row.Rate <= math.MaxFloat64) || row.Rate > 0 && len(row.Planes) != planes*max(1, len(row.Squares)) {
			return fmt.Errorf("%s %d has the rate %v and %d planes for %d neurons", what, r, row.Rate, len(row.Planes), planes)
		}
		return nil
	}
	planes, stated := 0, p.Statements
	for k := 1; k < len(c.layers)-1; k++ {
		n := c.layers[k].Outputs()
		if len(stated) < statements*n {
			return fmt.Errorf("%d rates and statements are too few for %d neurons of hidden layer %d", len(stated), n, k)
		}
		for i, row := range stated[:statements*n] {
			if err := fits("statement", i, row, planes); err != nil {
				return err
			}
			if len(row.Squares)+len(row.Upto) > 0 {
				return fmt.Errorf("statement %d has %d parts: they are of rows", i, len(row.Squares))
			}
		}
		stated, planes = stated[statements*n:], planes+n
	}
	if len(stated) > 0 {
		return fmt.Errorf("%d rates or statements are about no neuron", len(stated))
	}
	for r, row := range p.Rows {
		if err := fits("row", r, row, planes); err != nil {
			return err
		}
		if err := row.fitParts(planes); err != nil {
			return fmt.Errorf("row %d: %w", r, err)
		}
		if row.Budget != 0 && len(row.Shares) == 0 {
			return fmt.Errorf("row %d has the budget %v for differences, and no shares of them", r, row.Budget)
		}
	}
	return nil
}

// head is a row over the outputs of the last hidden layer: its constant, from below, and mean coefficients; the variances of
// its noise that meet each output's square, and that of biases; above what the magnitude of a coefficient is in no draw.
type head struct {
	constant       float64
	own            arith.Interval
	mean, variance []arith.Interval
	size           []float64
}

// lastLayer takes a row over the last layer.
func (c *Chain) lastLayer(row *property.Row) *head {
	last := &c.layers[len(c.layers)-1]
	out, of := last.Outputs(), &head{}
	coefficient := func(o int) arith.Interval { return arith.Of(row.CLo[o], row.CHi[o]) }
	weighed := func(p *posterior.Params, from int) arith.Interval {
		var lo, hi arith.Sum
		for o := range out {
			v := coefficient(o).Square().Times(variance(p, from+o))
			lo.Plus(v.Lo)
			hi.Plus(v.Hi)
		}
		return arith.Of(max(0, lo.Lo()), max(0, hi.Hi()))
	}
	var constant arith.Sum
	constant.Plus(row.D)
	for o := range out {
		constant.Add(arith.LeastProduct(row.CLo[o], row.CHi[o], last.Bias.Mean[o], last.Bias.Mean[o]))
	}
	of.constant, of.own = constant.Lo(), weighed(&last.Bias, 0)
	for j := range last.Inputs() {
		var lo, hi, size arith.Sum
		for o := range out {
			at := j*out + o
			product := coefficient(o).Times(arith.Exactly(last.Weight.Mean[at]))
			lo.Plus(product.Lo)
			hi.Plus(product.Hi)
			size.Plus(arith.Up(coefficient(o).Size() * sizeUp(last, at)))
		}
		of.mean, of.variance = append(of.mean, arith.Of(lo.Lo(), hi.Hi())), append(of.variance, weighed(&last.Weight, j*out))
		of.size = append(of.size, size.Hi())
	}
	return of
}

// moves is at least what outputs that move by at most reach each do to the row.
func (of *head) moves(reach []float64) float64 {
	var s arith.Sum
	for j, r := range reach {
		s.Add(of.size[j], r)
	}
	return s.Hi()
}

// tailLogUp bounds the logarithm of the probability that the row is <= 0 somewhere in the box, where the variance of its
// own noise is that of a part, on the statements ((52) and (52a)).
func (a *around) tailLogUp(of *head, by *part) float64 {
	h, square, e := by.rate, arith.Exactly(by.square), newExponent(len(of.mean))
	var power arith.Sum
	power.Add(-h, of.constant) // without a rounding for each product: the rate may be large
	power.Plus(square.Times(of.own).Hi)
	power.Plus(by.heightUp())
	for j, mean := range of.mean {
		e.al[j], e.alHi[j], e.b[j] = arith.Down(h*mean.Lo), arith.Up(h*mean.Hi), 2*square.Times(of.variance[j]).Hi
	}
	if a.reach != nil {
		power.Add(h, of.moves(a.reach))
	}
	e, more := a.below(len(a.neurons)-1, e, by.planes, fine)
	power.Plus(more)
	return arith.Up(power.Hi() + a.firstUp(e, pieceTol(fine)))
}

// below replaces the moments of hidden layers from k on down to the second by planes above them, each given the layer
// below: an exponent of the first layer's outputs, and a number. The planes are of the layers up to k, the lowest first.
func (a *around) below(k int, e exponent, planes []Plane, tol float64) (exponent, float64) {
	var s arith.Sum
	for ; k > 0; k-- {
		l := &a.layers[k]
		n, out := l.Inputs(), l.Outputs()
		these := planes[len(planes)-out:]
		planes = planes[:len(planes)-out]
		for i, p := range these {
			al, b := e.of(i)
			s.Plus(a.neurons[k][i].heightUp(moment(l.Activation, al, b, a.neurons[k][i], pieceTol(tol)/float64(out)), p, tol/float64(out)))
			s.Add(p.Mean, l.Bias.Mean[i])
			s.Plus(arith.Exactly(p.Variance).Times(variance(&l.Bias, i)).Hi)
		}
		lower := newExponent(n)
		for j := range n {
			var mean, v arith.Sum
			for i, p := range these {
				at := j*out + i
				mean.Add(-p.Mean, l.Weight.Mean[at])
				v.Add(p.Variance, weightEnd(l, at, p.Variance))
			}
			lower.al[j], lower.alHi[j], lower.b[j] = mean.Lo(), mean.Hi(), 2*v.Hi()
		}
		e = lower
	}
	return e, s.Hi()
}

// weightEnd is the end of a weight's variance at which a multiple of it is largest.
func weightEnd(l *posterior.Layer, at int, factor float64) float64 {
	v := variance(&l.Weight, at)
	if factor < 0 {
		return v.Lo
	}
	return v.Hi
}
