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

// Laws are those of the rows of a set, by the forms that certify takes, near, and by those with the least share of
// all, which may be the worse ones for a gap; with what hidden bounds and the rows fail with.
func (p *CellPass) Laws(s *property.Safe) (near, all []*law.MarginLaw, budget float64, fails []float64) {
	budget = p.BudgetUp()
	fails = []float64{budget}
	least := func(laws []formLaw) *law.MarginLaw {
		return slices.MinFunc(laws, func(a, b formLaw) int { return cmp.Compare(a.share, b.share) }).MarginLaw
	}
	for r := range s.Rows {
		laws, tail := p.lawsOf(&s.Rows[r])
		near, all = append(near, least(laws[:min(len(laws), worthLaws)])), append(all, least(laws))
		fails = append(fails, tail)
	}
	return near, all, budget, fails
}
