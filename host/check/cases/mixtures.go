package cases

import (
	"fmt"
	"math"
	"slices"

	"psafe/host/arith"
	"psafe/host/read/property"
)

// Mixtures of alternatives, (31) of docs/theory.md: S is an AND of clauses, each an OR of rows; of
// an OR of ANDs each clause has one row of every alternative. Where all rows of a clause are negative so
// is every sum of them with factors that are not negative; so S holds where one such sum of each
// clause is at least 0.

// MostClauses is the greatest number of clauses that mixtures may be about, as property.Safe.Mixed says it.
const MostClauses = 64

// Mixed is S with one alternative more, behind the others: the mixture of each clause of S with
// the factors theta of a record's proof. Coefficients and offsets enclose those of the real sums. Errors:
// factors that are not as many as rows, negative or NaN, all 0 in a clause, or so large that a sum
// is not finite; or there is nothing to mix.
func Mixed(s *property.Safe, theta [][]float64) (property.Safe, error) {
	clauses := ClausesOf(s)
	switch {
	case !slices.ContainsFunc(clauses, func(c []int) bool { return len(c) > 1 }):
		return property.Safe{}, fmt.Errorf("proof: mixtures: the property has no alternatives that could be mixed, or more than %d clauses", MostClauses)
	case len(theta) != len(clauses):
		return property.Safe{}, fmt.Errorf("proof: mixtures: there are %d, the property has %d clauses", len(theta), len(clauses))
	}
	out := property.Safe{Rows: slices.Clone(s.Rows), Any: slices.Clone(s.Any), Gates: s.Gates}
	var all []int
	for c, factors := range theta {
		var chosen []property.Row
		for _, r := range clauses[c] {
			chosen = append(chosen, s.Rows[r])
		}
		row, err := MixtureOf(chosen, factors)
		if err != nil {
			return property.Safe{}, fmt.Errorf("proof: mixtures: clause %d: %w", c, err)
		}
		all = append(all, len(out.Rows))
		out.Rows = append(out.Rows, row)
	}
	out.Any = append(out.Any, all)
	return out, nil
}

// ClausesOf writes S as an AND of at most MostClauses ORs of rows; nil where they are more. An AND has
// the clauses of its members, one after the other. An OR has for each choice of one clause of every
// member their union, and the clause of the last member changes first. What needs k of n members is
// the AND of the ORs of each n-k+1 of them, in lexicographic order.
func ClausesOf(s *property.Safe) [][]int {
	gates := make([][][]int, 0, len(s.Gates))
	of := func(m int) [][]int {
		if m >= 0 {
			return [][]int{{m}}
		}
		return gates[^m]
	}
	and := func(members []int) (all [][]int) {
		for _, m := range members {
			if all = append(all, of(m)...); of(m) == nil || len(all) > MostClauses {
				return nil
			}
		}
		return all
	}
	for _, g := range s.Gates {
		var all [][]int
		// choose goes on from the clauses so far with size more members, from member at on.
		var choose func(at, size int, so [][]int) bool
		choose = func(at, size int, so [][]int) bool {
			if size == 0 {
				all = append(all, so...)
				return len(all) <= MostClauses
			}
			for k := at; k+size <= len(g.Of); k++ {
				if next := eitherOf(so, of(g.Of[k])); next == nil || !choose(k+1, size-1, next) {
					return false
				}
			}
			return true
		}
		if g.Need == len(g.Of) {
			all = and(g.Of)
		} else if g.Need == 1 {
			all = [][]int{nil}
			for _, m := range g.Of {
				all = orInto(all, of(m))
			}
		} else if !choose(0, len(g.Of)-g.Need+1, [][]int{nil}) {
			all = nil
		}
		gates = append(gates, all)
	}
	if len(s.Any) == 1 {
		return and(s.Any[0])
	}
	all := [][]int{nil}
	for _, alternative := range s.Any {
		all = orInto(all, and(alternative))
	}
	return all
}

// orInto is eitherOf of an a that nobody else has, to which single rows are appended in place.
func orInto(a, b [][]int) [][]int {
	if len(b) != 1 {
		return eitherOf(a, b)
	}
	for k := range a {
		a[k] = append(a[k], b[0]...)
	}
	return a
}

// eitherOf are the unions of a clause of a and one of b; nil if they are more than MostClauses, or b is nil.
func eitherOf(a, b [][]int) (all [][]int) {
	if len(a)*len(b) > MostClauses {
		return nil
	}
	for _, x := range a {
		for _, y := range b {
			all = append(all, slices.Concat(x, y))
		}
	}
	return all
}

// MixtureOf is sum_a factors[a] rows[a]: its coefficients and offset enclose those of the sum. An
// error where there are not as many factors as rows, one is negative, infinite or NaN, all are 0,
// or the sum is not finite.
func MixtureOf(rows []property.Row, factors []float64) (property.Row, error) {
	if len(factors) != len(rows) {
		return property.Row{}, fmt.Errorf("there are %d factors for %d rows", len(factors), len(rows))
	}
	var mix property.Row
	for a, f := range factors {
		if !(f >= 0 && f <= math.MaxFloat64) {
			return property.Row{}, fmt.Errorf("factor %d is %v, which is no number >= 0", a, f)
		}
		if f == 0 {
			continue // 0 times what is there is 0
		}
		r := &rows[a]
		if mix.CLo == nil {
			mix.CLo, mix.CHi = make([]float64, len(r.CLo)), make([]float64, len(r.CLo))
		}
		mix.D, mix.DHi = arith.SumDown(mix.D, arith.ProductDown(f, r.D)), arith.SumUp(mix.DHi, arith.ProductUp(f, r.DHi))
		for k := range r.CLo {
			mix.CLo[k] = arith.SumDown(mix.CLo[k], arith.ProductDown(f, r.CLo[k]))
			mix.CHi[k] = arith.SumUp(mix.CHi[k], arith.ProductUp(f, r.CHi[k]))
		}
	}
	if mix.CLo == nil {
		return property.Row{}, fmt.Errorf("all factors are 0")
	}
	finite := arith.Finite(mix.D, mix.DHi)
	for k, lo := range mix.CLo {
		finite = finite && arith.Finite(lo, mix.CHi[k])
	}
	if !finite {
		return property.Row{}, fmt.Errorf("the sum is not finite: a factor is %v", slices.Max(factors))
	}
	return mix, nil
}
