package clbp

import (
	"cmp"
	"math"
	"slices"

	"psafe/host/check/law"
	"psafe/host/read/property"
)

// formLaw is the law of a form of a row, by what share of the class the form is, and about where it is a standard
// deviation below its bound.
type formLaw struct {
	*law.MarginLaw
	share, height float64
}

// lawsOf are the laws of the forms of a row, the highest first; tail bounds the probability that it is negative, or
// 0.
func (p *CellPass) lawsOf(row *property.Row) (laws []formLaw, tail float64) {
	tail = 1
	p.eachForm(row, func(lo float64, list []law.Noise) bool {
		tail = min(tail, law.FormTailUp(lo, list))
		law, v, height := law.LawOf(lo, list), 0.0, lo
		for _, n := range list {
			v, height = v+n.Variance, height-n.Mean
		}
		laws = append(laws, formLaw{law, law.ShareUp(), height - math.Sqrt(v)})
		return true
	})
	slices.SortStableFunc(laws, func(a, b formLaw) int { return cmp.Compare(b.height, a.height) })
	return laws, tail
}

// worthLaws is from how many of the highest laws certify takes the one with the least share.
const worthLaws = 2

// Laws are sets of laws of the rows of s: those with the least share of the forms that certify takes, and of all, and
// the highest and the next, as which of two is better for a gap no share says; with what hidden bounds and the rows fail
// with.
func (p *CellPass) Laws(s *property.Safe) (sets [][]*law.MarginLaw, budget float64, fails []float64) {
	budget = p.BudgetUp()
	fails = []float64{budget}
	least := func(laws []formLaw) *law.MarginLaw {
		return slices.MinFunc(laws, func(a, b formLaw) int { return cmp.Compare(a.share, b.share) }).MarginLaw
	}
	sets = make([][]*law.MarginLaw, 2+worthLaws)
	for r := range s.Rows {
		laws, tail := p.lawsOf(&s.Rows[r])
		sets[0], sets[1] = append(sets[0], least(laws[:min(len(laws), worthLaws)])), append(sets[1], least(laws))
		for k := range worthLaws {
			sets[2+k] = append(sets[2+k], laws[min(k, len(laws)-1)].MarginLaw)
		}
		fails = append(fails, tail)
	}
	return sets, budget, fails
}
