package check

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/big"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// What records say of the mean over the posterior of each output (docs/theory.md, section 9.8).

// mean holds what a record claims: Lower[i] <= E f_i(x) <= Upper[i] for all x of T, and SDLower[i] and
// SDUpper[i] bound the standard deviation of f_i(x), the others that with the noise of the flags.
type mean struct {
	Verdict string     `json:"verdict"`
	Lower   []*decimal `json:"lower"`
	Upper   []*decimal `json:"upper"`

	SDLower      []*decimal `json:"sd_lower"`
	SDUpper      []*decimal `json:"sd_upper"`
	TotalSDLower []*decimal `json:"total_sd_lower,omitempty"`
	TotalSDUpper []*decimal `json:"total_sd_upper,omitempty"`
}

// meanProof holds how a record says that means were bounded.
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

// consistentMean returns what of means contradicts itself.
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
	for _, of := range [][2][]*decimal{{m.SDLower, m.SDUpper}, {m.TotalSDLower, m.TotalSDUpper}} {
		total := m.TotalSDLower != nil || m.TotalSDUpper != nil
		if len(of[0]) != len(of[1]) || len(of[0]) != len(m.Lower) && (of[0] != nil || total) || m.SDLower == nil {
			return fmt.Errorf("output_mean: %d lower and %d upper bounds of deviations", len(of[0]), len(of[1]))
		}
		for i := range of[0] {
			if of[0][i] == nil || of[1][i] == nil || of[0][i].Cmp(property.Exact{}) < 0 || of[0][i].Cmp(of[1][i].Exact) > 0 {
				return fmt.Errorf("output_mean: a deviation from %v to %v is no interval", of[0][i], of[1][i])
			}
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
	if err := q.withNoise(); err != nil {
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
		is, sd, err := meanOn(q.post, c)
		if err != nil {
			return err
		}
		for i := range outputs {
			if !(m.SDLower[i].Rat().Cmp(rat(sd.lo[i])) <= 0 && m.SDUpper[i].Rat().Cmp(rat(sd.hi[i])) >= 0) {
				return fmt.Errorf("output_mean: the deviation of output %d is from %v to %v, proved is from %v to %v", i, m.SDLower[i], m.SDUpper[i], sd.lo[i], sd.hi[i])
			}
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
	is, _, err := meanOn(q.post, at)
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

// withNoise proves the deviations with noise from those without: variances add up.
func (q *question) withNoise() error {
	m := q.OutputMean
	if m.TotalSDLower == nil {
		return nil
	}
	noise, err := property.NewExact(q.asked()["--noise"])
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

// squareDown is at most x^2 for x >= 0.
func squareDown(x float64) float64 { return max(0, arith.Down(x*x)) }
