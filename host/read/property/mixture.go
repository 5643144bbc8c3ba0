package property

import (
	"fmt"
	"math"
	"slices"
)

// maxClauses bounds the clauses that one part of a safe set is multiplied out to, and those of a
// set that has mixtures.
const maxClauses = 64

// Clauses writes S as a conjunction of clauses, each an OR of rows: an AND is that of its members'
// clauses; an OR that of all unions of one clause of each member, in lexicographic order; a gate
// that needs some of n members that of the ORs of each n-Need+1 of them. Nil where one of the last
// two is more than 64 clauses, or S is everything or nothing.
func (s *Safe) Clauses() [][]int {
	gates := make([][][]int, 0, len(s.Gates)) // nil: too many
	of := func(m int) [][]int {
		if m < 0 {
			return gates[^m]
		}
		return [][]int{{m}}
	}
	all := func(members []int) (clauses [][]int) {
		for _, m := range members {
			some := of(m)
			if some == nil {
				return nil
			}
			clauses = append(clauses, some...)
		}
		return clauses
	}
	for _, g := range s.Gates {
		var clauses [][]int
		switch n := len(g.Of); {
		case g.Need < 1 || g.Need > n:
		case g.Need == n:
			clauses = all(g.Of)
		case choices(n, n-g.Need+1) <= maxClauses:
			for _, chosen := range subsets(n, n-g.Need+1) {
				var some [][][]int
				for _, k := range chosen {
					some = append(some, of(g.Of[k]))
				}
				one := unions(some)
				if one == nil || len(clauses)+len(one) > maxClauses {
					clauses = nil
					break
				}
				clauses = append(clauses, one...)
			}
		}
		gates = append(gates, clauses)
	}
	if len(s.Any) == 1 {
		return all(s.Any[0])
	}
	var some [][][]int
	for _, alternative := range s.Any {
		some = append(some, all(alternative))
	}
	return unions(some)
}

// unions returns the unions of one clause of each list; nil if they are too many, or a list is empty.
func unions(lists [][][]int) [][]int {
	if len(lists) == 0 {
		return nil
	}
	out := [][]int{nil}
	for _, list := range lists {
		if len(list) == 0 || len(out) > maxClauses/len(list) {
			return nil
		}
		if len(list) == 1 { // in place, as an OR of very many rows is made so
			for k := range out {
				out[k] = append(out[k], list[0]...)
			}
			continue
		}
		var longer [][]int
		for _, c := range out {
			for _, more := range list {
				longer = append(longer, append(c[:len(c):len(c)], more...))
			}
		}
		out = longer
	}
	return out
}

// choices returns how many sets of k of n there are, or more than maxClauses.
func choices(n, k int) int {
	count := 1
	for i := range min(k, n-k) {
		if count = count * (n - i) / (i + 1); count > maxClauses {
			break
		}
	}
	return count
}

// subsets are the sets of k of n, in lexicographic order.
func subsets(n, k int) (all [][]int) {
	choice := make([]int, k)
	for i := range choice {
		choice[i] = i
	}
	for {
		all = append(all, slices.Clone(choice))
		// The next choice: the last number that can grow does, those behind it follow.
		i := k - 1
		for i >= 0 && choice[i] == n-k+i {
			i--
		}
		if i < 0 {
			return all
		}
		choice[i]++
		for j := i + 1; j < k; j++ {
			choice[j] = choice[j-1] + 1
		}
	}
}

// Mixable are the Clauses of a set that mixtures say something new of; nil if there are none of
// several rows, or more than 64 clauses.
func (s *Safe) Mixable() [][]int {
	clauses := s.Clauses()
	if len(clauses) > maxClauses || !slices.ContainsFunc(clauses, func(c []int) bool { return len(c) > 1 }) {
		return nil
	}
	return clauses
}

// Mixed is S with one alternative more, after the others: that for every clause c (Mixable) its
// mixture holds,
//
//	sum_a theta[c][a] row_(c, a) >= 0                                                       (31)
//
// with theta >= 0, not all of a clause 0. If all rows of a clause were negative, so would its
// mixture be: where all mixtures hold, so does a row of every clause, hence S. The new set is the
// same as S; lower bounds of the new rows, which come after the others, can prove it. theta must be
// chosen before weights are drawn where a probability follows. Errors: those of Mixture, and theta
// that does not fit the clauses.
func (s *Safe) Mixed(theta [][]float64) (Safe, error) {
	clauses := s.Mixable()
	if len(clauses) == 0 || len(theta) != len(clauses) {
		return Safe{}, fmt.Errorf("%d mixtures of rows for %d clauses", len(theta), len(clauses))
	}
	mixed := Safe{Rows: append([]Row(nil), s.Rows...), Any: append([][]int(nil), s.Any...), Gates: s.Gates}
	var all []int
	for c, clause := range clauses {
		row, err := s.Mixture(clause, theta[c])
		if err != nil {
			return Safe{}, fmt.Errorf("mixture %d %w", c, err)
		}
		all = append(all, len(mixed.Rows))
		mixed.Rows = append(mixed.Rows, row)
	}
	mixed.Any = append(mixed.Any, all)
	return mixed, nil
}

// Mixture is sum_a theta[a] Rows[clause[a]], rounded as all rows are: CLo and D down, CHi and DHi
// up. Errors: theta does not fit the clause, is 0, negative or not finite, or so large that the row
// would not be finite.
func (s *Safe) Mixture(clause []int, theta []float64) (Row, error) {
	if len(theta) != len(clause) {
		return Row{}, fmt.Errorf("has %d factors for %d rows", len(theta), len(clause))
	}
	outputs := len(s.Rows[clause[0]].CLo)
	row := Row{CLo: make([]float64, outputs), CHi: make([]float64, outputs)}
	positive := false
	for a, r := range clause {
		f := theta[a]
		if !(f >= 0 && f <= math.MaxFloat64) {
			return Row{}, fmt.Errorf("has the factor %v: it must be a number that is at least 0", f)
		}
		if f == 0 {
			continue
		}
		positive = true
		for i := range outputs {
			row.CLo[i], row.CHi[i] = plusTimes(row.CLo[i], row.CHi[i], f, s.Rows[r].CLo[i], s.Rows[r].CHi[i])
		}
		row.D, row.DHi = plusTimes(row.D, row.DHi, f, s.Rows[r].D, s.Rows[r].DHi)
	}
	if !positive {
		return Row{}, fmt.Errorf("has no positive factor")
	}
	for i := range outputs {
		if !ordered(row.CLo[i], row.CHi[i]) {
			return Row{}, fmt.Errorf("is not finite: its factors are too large")
		}
	}
	if !ordered(row.D, row.DHi) {
		return Row{}, fmt.Errorf("is not finite: its factors are too large")
	}
	return row, nil
}

// plusTimes encloses [lo, hi] + f [a, b] for f > 0; what is a float64 stays one, so that halves
// of rows of whole numbers are such rows.
func plusTimes(lo, hi, f, a, b float64) (float64, float64) {
	return addDown(lo, mulDown(f, a)), addUp(hi, 0-mulDown(f, -b))
}
