package record

import (
	"errors"
	"fmt"

	"psafe/host/read/property"
)

// What records say of the mean over the posterior of each output (docs/theory.md, section 9.8).

// consistentMean returns what of means contradicts itself.
func (r *Record) consistentMean() error {
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
	for _, of := range [][2][]*Decimal{{m.SDLower, m.SDUpper}, {m.TotalSDLower, m.TotalSDUpper}} {
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
	proof, err := Part[MeanProof]("mean", r.Proof.Mean)
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
