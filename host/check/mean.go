package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/curves"
	net "psafe/host/model/network"
	"psafe/host/model/posterior"
	"psafe/host/read/property"
)

// What records say of the mean over the posterior of each output (docs/decisions.md, section 8).

// mean is what a record claims: Lower[i] <= E f_i(x) <= Upper[i] for all x of T.
type mean struct {
	Verdict string     `json:"verdict"`
	Lower   []*decimal `json:"lower"`
	Upper   []*decimal `json:"upper"`
}

// meanProof is how a record says that means were bounded.
type meanProof struct {
	Cells   []int         `json:"cells,omitempty"`
	Witness *witnessProof `json:"witness,omitempty"`
}

// mean is the field mean of a proof.
func (p *proof) mean() (*meanProof, error) {
	var m meanProof
	if len(p.Mean) == 0 {
		return &m, nil
	}
	if err := strictly(p.Mean, &m); err != nil {
		return nil, fmt.Errorf("proof: mean: %w", err)
	}
	if len(m.Cells) > mostTree {
		return nil, fmt.Errorf("proof: mean: its cells have %d numbers, the limit is %d", len(m.Cells), mostTree)
	}
	return &m, nil
}

// consistentMean says what of means contradicts itself.
func (r *record) consistentMean() error {
	m := r.OutputMean
	if m == nil {
		return nil
	}
	if len(m.Lower) == 0 || len(m.Lower) != len(m.Upper) {
		return fmt.Errorf("output_mean: %d lower and %d upper bounds", len(m.Lower), len(m.Upper))
	}
	for i := range m.Lower {
		if m.Lower[i] == nil || m.Upper[i] == nil || m.Lower[i].Cmp(m.Upper[i].Exact) > 0 {
			return fmt.Errorf("output_mean: from %v to %v is no interval", m.Lower[i], m.Upper[i])
		}
	}
	proof, err := r.Proof.mean()
	switch {
	case err != nil:
		return err
	case r.Template != "" || r.Eps == "": // a property of a file may have any name, and be about anything
		return errors.New("output_mean: the property is that of a file: means are of a box of outputs around a point")
	case !property.IsBox(r.Property):
		return fmt.Errorf("output_mean: the property is %.40q, no box of outputs", r.Property)
	case (m.Verdict == "mean_unsafe") != (proof.Witness != nil):
		return fmt.Errorf("output_mean: the verdict is %.40q, whether there is a witness: %v", m.Verdict, proof.Witness != nil)
	}
	return nil
}

// means proves what a record says of means.
func (q *question) means(ctx context.Context) error {
	m, outputs := q.OutputMean, q.post.Outputs()
	proof, err := q.Proof.mean()
	if err != nil {
		return err
	}
	if len(m.Lower) != outputs {
		return fmt.Errorf("output_mean: %d outputs, the network has %d", len(m.Lower), outputs)
	}
	// Decimals are taken for the float64 on their far side.
	claimed := newSpan(outputs)
	for i := range outputs {
		claimed.lo[i], claimed.hi[i] = m.Lower[i].Lo, m.Upper[i].Hi
	}
	holds := q.task.S.Holds(rowsOn(q.task.S.Rows, claimed))
	if (m.Verdict == "mean_safe") != holds {
		return fmt.Errorf("output_mean: the verdict is %.40q, whether the box holds all that the means may be: %v", m.Verdict, holds)
	}
	cells, err := cellsOf(q.task.T, proof.Cells)
	if err != nil {
		return fmt.Errorf("output_mean: %w", err)
	}
	for _, c := range cells {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		is, err := q.meanOn(c)
		if err != nil {
			return err
		}
		for i := range outputs {
			if !(m.Lower[i].Rat().Cmp(rat(is.lo[i])) <= 0 && m.Upper[i].Rat().Cmp(rat(is.hi[i])) >= 0) {
				return fmt.Errorf("output_mean: output %d is from %v to %v, proved is from %v to %v", i, m.Lower[i], m.Upper[i], is.lo[i], is.hi[i])
			}
		}
	}
	if proof.Witness == nil {
		if m.Verdict != "mean_safe" && m.Verdict != "unknown" {
			return fmt.Errorf("output_mean: %.40q is no verdict", m.Verdict)
		}
		return nil
	}
	at, err := proof.Witness.around(q.task)
	if err != nil {
		return err
	}
	is, err := q.meanOn(at)
	if err != nil {
		return err
	}
	if negated := negatedRows(&q.task.S); !q.task.S.FailsSurely(rowsOn(negated.Rows, is)) {
		return errors.New("output_mean: the mean is not proved to be outside of the box at the witness")
	}
	return nil
}

// rat is x as a rational number, far out where it is none.
func rat(x float64) *big.Rat {
	if !(math.Abs(x) <= math.MaxFloat64) {
		x = math.Copysign(math.MaxFloat64, x)
	}
	return new(big.Rat).SetFloat64(x)
}

// rowsOn are lower bounds of rows for outputs in a span.
func rowsOn(rows []property.Row, y span) []float64 {
	list := make([]float64, len(rows))
	for r := range rows {
		var s arith.Sum
		s.Plus(rows[r].D)
		for i := range y.lo {
			if w, z := arith.LeastProduct(rows[r].CLo[i], rows[r].CHi[i], y.lo[i], y.hi[i]); w != 0 {
				s.Add(w, z)
			}
		}
		list[r] = s.Lo()
	}
	return list
}

// meanOn bounds the means on a cell.
func (q *question) meanOn(cell property.Box) (span, error) {
	if q.post.Networks() != nil {
		return meanOfSet(q.post, cell)
	}
	return meanOfReLU(q.post, cell)
}

// meanOfSet are means of what each network of a finite set has, the better of intervals and lines.
func meanOfSet(post *posterior.Posterior, cell property.Box) (span, error) {
	set, outputs := post.Networks(), post.Outputs()
	m, err := moldOf(post.Network())
	if err != nil {
		return span{}, fmt.Errorf("posterior: %w", err)
	}
	rows := make([]property.Row, 2*outputs)
	for r := range rows {
		c := make([]float64, outputs)
		if c[r/2] = 1; r%2 == 1 {
			c[r/2] = -1
		}
		rows[r] = property.Row{CLo: c, CHi: c}
	}
	sums := make([]big.Rat, len(rows))
	for i, count := range set.Counts {
		n, err := networkOf(m, set.Weights(i))
		if err != nil {
			return span{}, err
		}
		lines := network{layers: n.layers, graph: n.graph, lines: true}
		lo, _ := lines.rowsLo(cell, rows)
		if slices.ContainsFunc(lo, func(x float64) bool { return !(math.Abs(x) <= math.MaxFloat64) }) {
			return span{}, fmt.Errorf("output_mean: nothing is proved of network %d", i)
		}
		for r, x := range lo {
			sums[r].Add(&sums[r], new(big.Rat).Mul(exactRat(x), big.NewRat(count, set.Total())))
		}
	}
	is := newSpan(outputs)
	for i := range outputs {
		is.lo[i], is.hi[i] = ratDown(&sums[2*i]), -ratDown(&sums[2*i+1])
	}
	return is, nil
}

// meanOfReLU is (85): with t_j(x) normal and independent of the weights above it,
//
//	E f_i(x) = sum_j E w_ij (E t_j(x) + E|t_j(x)|)/2 + E b_i
func meanOfReLU(post *posterior.Posterior, cell property.Box) (span, error) {
	if !post.Independent() || !post.Network().Chain() || len(post.Layers) != 2 || !cuts(post.Layers[0].Activation) || !identity(post.Layers[1].Activation) {
		return span{}, fmt.Errorf("output_mean: the posterior is %s: means are proved of sets of networks, and of one hidden layer of ReLU", post.Describe())
	}
	first, last := &post.Layers[0], &post.Layers[1]
	z := newSpan(first.Outputs())
	in, out := first.Map.(net.Linear), last.Map.(net.Linear)
	for j := range z.lo {
		b := in.BiasOf(j)
		var lo, hi, least, most arith.Sum
		lo.Plus(first.Bias.Mean[b])
		hi.Plus(first.Bias.Mean[b])
		least.Add(first.Bias.SdLo[b], first.Bias.SdLo[b])
		most.Add(first.Bias.SdHi[b], first.Bias.SdHi[b])
		for i, w := range in.Into(j) {
			mean := first.Weight.Mean[w]
			x, y := cell.Lo[i], cell.Hi[i]
			if mean < 0 {
				lo.Add(mean, y)
				hi.Add(mean, x)
			} else {
				lo.Add(mean, x)
				hi.Add(mean, y)
			}
			near, far := max(x, -y, 0), abs(x, y)
			least.Add(squareDown(first.Weight.SdLo[w]), squareDown(near))
			most.Add(squareUp(first.Weight.SdHi[w]), squareUp(far))
		}
		sdLo := max(0, arith.Down(math.Sqrt(max(0, least.Lo()))))
		mLo, mHi := lo.Lo(), hi.Hi()
		z.lo[j] = max(0, mLo, arith.ProductDown(0.5, arith.SumDown(mLo, curves.AbsMeanDown(mLo, sdLo))))
		z.hi[j] = max(0, arith.ProductUp(0.5, arith.SumUp(mHi, curves.AbsMeanUp(mHi, arith.SqrtUp(most.Hi())))))
	}
	is := newSpan(last.Outputs())
	for i := range is.lo {
		b := out.BiasOf(i)
		var lo, hi arith.Sum
		lo.Plus(last.Bias.Mean[b])
		hi.Plus(last.Bias.Mean[b])
		for j, w := range out.Into(i) {
			if mean := last.Weight.Mean[w]; mean < 0 {
				lo.Add(mean, z.hi[j])
				hi.Add(mean, z.lo[j])
			} else {
				lo.Add(mean, z.lo[j])
				hi.Add(mean, z.hi[j])
			}
		}
		is.lo[i], is.hi[i] = lo.Lo(), hi.Hi()
	}
	return is, nil
}

// squareDown is at most x^2.
func squareDown(x float64) float64 { return max(0, arith.Down(x*x)) }

// identity says that the activation is t.
func identity(a net.Activation) bool {
	below, kinked := a.Kinked()
	return kinked && below == 1
}
