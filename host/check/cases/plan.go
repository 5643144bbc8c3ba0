package cases

import (
	"fmt"
	"slices"

	"psafe/host/read/property"
)

// Plan says which rows of S a record proved by sums of neurons, by their numbers: all of them or,
// with Factors, their sum with these.
type Plan struct {
	Rows    []int     `json:"rows"`
	Factors []float64 `json:"factors,omitempty"`
}

// PlansOf are, for each of so many cells, rows of which one is not positive where S fails: those
// that the cell's plan names and S follows from or, where S follows from each of them, their sum.
// No plans (nil) are those of the only alternative. An error where S does not follow.
func PlansOf(s *property.Safe, plans []*Plan, cells int) ([][]property.Row, error) {
	if plans == nil {
		rows, err := Chosen(s, nil)
		return slices.Repeat([][]property.Row{rows}, cells), err
	}
	if len(plans) != cells {
		return nil, fmt.Errorf("proof: plans: there are %d, and %d cells", len(plans), cells)
	}
	out := make([][]property.Row, cells)
	for k, p := range plans {
		if p == nil || p.Rows == nil {
			return nil, fmt.Errorf("proof: plans: number %d has no rows", k)
		}
		apart := [][]int{p.Rows}
		if p.Factors != nil {
			apart = slices.Collect(slices.Chunk(p.Rows, 1))
		}
		for _, numbers := range apart {
			rows, err := Chosen(s, numbers)
			if err != nil {
				return nil, fmt.Errorf("proof: plans: number %d: %w", k, err)
			}
			out[k] = append(out[k], rows...)
		}
		if p.Factors != nil {
			row, err := MixtureOf(out[k], p.Factors)
			if err != nil {
				return nil, fmt.Errorf("proof: plans: number %d: %w", k, err)
			}
			out[k] = []property.Row{row}
		}
	}
	return out, nil
}

// RefutingOf are negated rows of which one is not positive where S holds: of each alternative one
// of its rows, or a sum of them, by a plan of its own; of a set with gates those that one plan
// names, which do not all fail where S holds. An error where plans say anything else.
func RefutingOf(s *property.Safe, plans []*Plan) (all []property.Row, err error) {
	want, gates := len(s.Any), len(s.Gates) > 0
	if gates {
		want = 1
	}
	if len(plans) != want {
		return nil, fmt.Errorf("proof: upper: plans: there are %d, the property needs %d", len(plans), want)
	}
	for k, p := range plans {
		if p == nil || gates && p.Factors != nil || !gates && p.Factors == nil && len(p.Rows) != 1 {
			return nil, fmt.Errorf("proof: upper: plans: number %d is neither one row nor a sum", k)
		}
		var rows []property.Row
		for _, r := range p.Rows {
			if r < 0 || r >= len(s.Rows) || !gates && !slices.Contains(s.Any[k], r) {
				return nil, fmt.Errorf("proof: upper: plans: number %d has row %d, which is none of its", k, r)
			}
			rows = append(rows, s.Rows[r].Negated())
		}
		if gates && follows(s, p.Rows, false) {
			return nil, fmt.Errorf("proof: upper: plans: the property may hold where %d fail", p.Rows)
		}
		if p.Factors != nil {
			row, err := MixtureOf(rows, p.Factors)
			if err != nil {
				return nil, fmt.Errorf("proof: upper: plans: number %d: %w", k, err)
			}
			rows = []property.Row{row}
		}
		all = append(all, rows...)
	}
	return all, nil
}
