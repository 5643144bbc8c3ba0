package record

import (
	"fmt"
	"strconv"

	"psafe/host/read/property"
)

// writtenBounds refuses bounds that are not written as docs/reference.md says. A decimal between two
// float64s is taken for the nearest by other readers, which may claim more than what is proved here.
func (r *Record) writtenBounds() error {
	type bound struct {
		field string
		of    *Decimal
		text  func(float64) string
	}
	lower, upper := property.DecimalDown, property.DecimalUp
	list := []bound{{"p_lower", r.PLower, lower}, {"log10_p_lower", r.Log10PLower, lower}, {"p_upper", r.PUpper, upper},
		{"log10_ceiling", r.Log10Ceiling, upper}, {"margin", r.Margin, lower}}
	if d := r.Derived; d != nil {
		list = append(list, bound{"derived: inf_prob_lower", d.InfProbLower, lower}, bound{"derived: inf_prob_upper", d.InfProbUpper, upper},
			bound{"derived: inf_mean_lower", d.InfMeanLower, lower})
	}
	if d := r.Decision; d != nil {
		list = append(list, bound{"decision: lower", d.Lower, lower}, bound{"decision: rival_upper", d.RivalUpper, upper},
			bound{"decision: gap", d.Gap, lower}, bound{"decision: vote", d.Vote, lower}, bound{"decision: rival_gap", d.RivalGap, lower})
	}
	if m := r.OutputMean; m != nil {
		for i := range m.Lower {
			list = append(list, bound{"output_mean: lower", m.Lower[i], lower})
		}
		for i := range m.Upper {
			list = append(list, bound{"output_mean: upper", m.Upper[i], upper})
		}
		for _, of := range []struct {
			list []*Decimal
			text func(float64) string
		}{{m.SDLower, lower}, {m.SDUpper, upper}, {m.TotalSDLower, lower}, {m.TotalSDUpper, upper}} {
			for _, sd := range of.list {
				list = append(list, bound{"output_mean: a deviation", sd, of.text})
			}
		}
	}
	if s := r.Statistical; s != nil {
		list = append(list, bound{"statistical: lower", s.Lower, lower}, bound{"statistical: upper", s.Upper, upper})
	}
	if p := r.Parent; p != nil {
		list = append(list, bound{"parent: lower", p.Lower, lower}, bound{"parent: upper", p.Upper, upper})
	}
	for _, b := range list {
		if b.of == nil {
			continue
		}
		if x, err := strconv.ParseFloat(b.of.text, 64); err != nil || b.text(x) != b.of.text {
			return fmt.Errorf("%s: %.60v is not how records write a bound", b.field, b.of)
		}
	}
	return nil
}
