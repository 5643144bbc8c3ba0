package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"

	"psafe/host/arith"
	"psafe/host/check/cases"
	"psafe/host/check/mean"
	"psafe/host/check/record"
	"psafe/host/check/relax"
	"psafe/host/read/property"
)

func (q *question) means(ctx context.Context) error {
	m, outputs := q.OutputMean, q.post.Outputs()
	proof, err := record.Part[record.MeanProof]("mean", q.Proof.Mean)
	if err != nil {
		return err
	}
	if err := q.withNoise(); err != nil {
		return err
	}
	if len(m.Lower) != outputs {
		return fmt.Errorf("output_mean: %d outputs, the network has %d", len(m.Lower), outputs)
	}
	// Decimals are taken for the float64 on their far side.
	claimed := relax.NewSpan(outputs)
	for i := range outputs {
		claimed.Lo[i], claimed.Hi[i] = m.Lower[i].Lo, m.Upper[i].Hi
	}
	holds := q.task.S.Holds(rowsOn(q.task.S.Rows, claimed))
	if (m.Verdict == "mean_safe") != holds {
		return fmt.Errorf("output_mean: the verdict is %.40q, whether the box holds all that the means may be: %v", m.Verdict, holds)
	}
	cells, err := cases.CellsOf(q.task.T, proof.Cells)
	if err != nil {
		return fmt.Errorf("output_mean: %w", err)
	}
	for _, c := range cells {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		is, sd, err := mean.On(q.post, c)
		if err != nil {
			return err
		}
		for i := range outputs {
			if !(m.SDLower[i].Rat().Cmp(rat(sd.Lo[i])) <= 0 && m.SDUpper[i].Rat().Cmp(rat(sd.Hi[i])) >= 0) {
				return fmt.Errorf("output_mean: the deviation of output %d is from %v to %v, proved is from %v to %v", i, m.SDLower[i], m.SDUpper[i], sd.Lo[i], sd.Hi[i])
			}
			if !(m.Lower[i].Rat().Cmp(rat(is.Lo[i])) <= 0 && m.Upper[i].Rat().Cmp(rat(is.Hi[i])) >= 0) {
				return fmt.Errorf("output_mean: output %d is from %v to %v, proved is from %v to %v", i, m.Lower[i], m.Upper[i], is.Lo[i], is.Hi[i])
			}
		}
	}
	if proof.Witness == nil {
		if m.Verdict != "mean_safe" && m.Verdict != "unknown" {
			return fmt.Errorf("output_mean: %.40q is no verdict", m.Verdict)
		}
		return nil
	}
	at, err := proof.Witness.Around(q.task)
	if err != nil {
		return err
	}
	is, _, err := mean.On(q.post, at)
	if err != nil {
		return err
	}
	if negated := cases.NegatedRows(&q.task.S); !q.task.S.FailsSurely(rowsOn(negated.Rows, is)) {
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
func rowsOn(rows []property.Row, y relax.Span) []float64 {
	list := make([]float64, len(rows))
	for r := range rows {
		var s arith.Sum
		s.Plus(rows[r].D)
		for i := range y.Lo {
			if w, z := arith.LeastProduct(rows[r].CLo[i], rows[r].CHi[i], y.Lo[i], y.Hi[i]); w != 0 {
				s.Add(w, z)
			}
		}
		list[r] = s.Lo()
	}
	return list
}

// withNoise proves the deviations with noise from those without: variances add up.
func (q *question) withNoise() error {
	m := q.OutputMean
	if m.TotalSDLower == nil {
		return nil
	}
	noise, err := property.NewExact(q.Asked()["--noise"])
	if err != nil || noise.Cmp(property.Exact{}) < 0 {
		return fmt.Errorf("flags: --noise is no deviation: %.99q", q.Flags)
	}
	square := func(x *big.Rat) *big.Rat { return new(big.Rat).Mul(x, x) }
	for i := range m.TotalSDLower {
		lo, hi := square(m.SDLower[i].Rat()), square(m.SDUpper[i].Rat())
		if own := square(noise.Rat()); square(m.TotalSDLower[i].Rat()).Cmp(lo.Add(lo, own)) > 0 || square(m.TotalSDUpper[i].Rat()).Cmp(hi.Add(hi, own)) < 0 {
			return fmt.Errorf("output_mean: the deviation of output %d with noise is from %v to %v, which does not follow", i, m.TotalSDLower[i], m.TotalSDUpper[i])
		}
	}
	return nil
}

// derivedBounds proves the mean of rows.
func (q *question) derivedBounds(context.Context) error {
	d := q.Derived
	switch {
	case !q.post.Independent():
		return fmt.Errorf("derived: the posterior is %s, not independent normal weights", q.post.Describe())
	case d.InfMeanLower == nil:
		return nil
	}
	mean, known := mean.Down(q.post, q.task, q.proved.FailUp())
	if !known || d.InfMeanLower.Rat().Cmp(new(big.Rat).SetFloat64(mean)) > 0 {
		return fmt.Errorf("derived: inf_mean_lower is %v, proved is %v", d.InfMeanLower, mean)
	}
	return nil
}
