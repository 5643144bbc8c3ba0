package check

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/check/sums"
	"psafe/host/read/property"
)

// Mixtures of alternatives, (31) of docs/soundness.md: S, an OR of ANDs of rows, is an AND of
// clauses, each an OR of one row of every alternative. Where all rows of a clause are negative so
// is every sum of them with factors that are not negative; so S holds where one such sum of each
// clause is at least 0.

// mostClauses is how many clauses mixtures may be about, as property.Safe.Mixed says it.
const mostClauses = 64

// mixed is S with one alternative more, behind the others: the mixture of each clause of S with
// the factors theta of a record's proof. Clauses are in lexicographic order: the row of the last
// alternative changes first. Coefficients and offsets enclose those of the real sums. Errors:
// factors that are not as many as rows, negative or NaN, all 0 in a clause, or so large that a sum
// is not finite; or there is nothing to mix.
func mixed(s *property.Safe, theta [][]float64) (property.Safe, error) {
	clauses := 1
	for _, rows := range s.Any {
		if clauses *= len(rows); clauses > mostClauses {
			return property.Safe{}, fmt.Errorf("proof: mixtures: the property has more than %d clauses, none of its records has mixtures", mostClauses)
		}
	}
	switch {
	case len(s.Any) < 2 || clauses == 0:
		return property.Safe{}, fmt.Errorf("proof: mixtures: the property has no alternatives that could be mixed")
	case len(theta) != clauses:
		return property.Safe{}, fmt.Errorf("proof: mixtures: there are %d, the property has %d clauses", len(theta), clauses)
	}
	out := property.Safe{Rows: slices.Clone(s.Rows), Any: slices.Clone(s.Any)}
	var all []int
	for c, factors := range theta {
		if len(factors) != len(s.Any) {
			return property.Safe{}, fmt.Errorf("proof: mixtures: clause %d has %d factors, the property has %d alternatives", c, len(factors), len(s.Any))
		}
		// The digits of c say which row the clause takes of each alternative, the last one first.
		chosen := make([]property.Row, len(s.Any))
		for a, rest := len(s.Any)-1, c; a >= 0; a-- {
			chosen[a] = s.Rows[s.Any[a][rest%len(s.Any[a])]]
			rest /= len(s.Any[a])
		}
		row, err := mixtureOf(chosen, factors)
		if err != nil {
			return property.Safe{}, fmt.Errorf("proof: mixtures: clause %d: %w", c, err)
		}
		all = append(all, len(out.Rows))
		out.Rows = append(out.Rows, row)
	}
	out.Any = append(out.Any, all)
	return out, nil
}

// mixtureOf is sum_a factors[a] rows[a].
func mixtureOf(rows []property.Row, factors []float64) (property.Row, error) {
	for a, f := range factors {
		if !(f >= 0 && f <= math.MaxFloat64) {
			return property.Row{}, fmt.Errorf("factor %d is %v, which is no number >= 0", a, f)
		}
	}
	if slices.Max(factors) == 0 {
		return property.Row{}, fmt.Errorf("all factors are 0")
	}
	row := sums.Mixture(rows, factors)
	finite := arith.Finite(row.D, row.DHi)
	for k, lo := range row.CLo {
		finite = finite && arith.Finite(lo, row.CHi[k])
	}
	if !finite {
		return property.Row{}, fmt.Errorf("the sum is not finite: a factor is %v", slices.Max(factors))
	}
	return row, nil
}
