package record

import (
	"fmt"
	"math"
	"slices"
)

// decidedAt are records that say of a question that what is deployed does what is wanted everywhere on
// T, and that it does not at some point.
type decidedAt struct {
	// of is the action of a decision by costs, ofClass of one for the class, ofMean a mean in its box.
	of               int
	safe, unsafe     place
	isSafe, isUnsafe bool
}

const (
	ofClass = -1
	ofMean  = -2
)

// decide keeps where a decision or a mean is proved, and where it is refuted.
func (q *Questions) decide(i uint32, r *Record, at place) {
	if d := r.Decision; d != nil {
		of := ofClass
		if d.Action != nil {
			of = *d.Action
		}
		q.decideOf(i, of, float64(d.Gap) > 0, d.RivalGap != nil && float64(*d.RivalGap) > 0, at)
	}
	if m := r.OutputMean; m != nil {
		q.decideOf(i, ofMean, r.Wanted() > 0, r.Wanted() < 0, at)
		q.mean(i, m, at)
	}
}

func (q *Questions) decideOf(i uint32, of int, safe, unsafe bool, at place) {
	if !safe && !unsafe {
		return
	}
	if q.decided == nil {
		q.decided = map[uint32][]*decidedAt{}
	}
	k := slices.IndexFunc(q.decided[i], func(d *decidedAt) bool { return d.of == of })
	if k < 0 {
		k = len(q.decided[i])
		q.decided[i] = append(q.decided[i], &decidedAt{of: of})
	}
	d := q.decided[i][k]
	if safe && !d.isSafe {
		d.safe, d.isSafe = at, true
	}
	if unsafe && !d.isUnsafe {
		d.unsafe, d.isUnsafe = at, true
	}
}

// decisions adds what is proved at a radius where, or at a smaller one, the contrary is, and actions that
// are both said to be the only one taken: at the points of the smaller T they exclude each other.
func (q *Questions) decisions(list []Contradiction, family []uint32) []Contradiction {
	type decision struct {
		entry uint32
		*decidedAt
	}
	var all []decision
	for _, i := range family {
		for _, d := range q.decided[i] {
			all = append(all, decision{i, d})
		}
	}
	for _, d := range all {
		if !d.isSafe {
			continue
		}
		refuted, another := d.of, -1 // with the first of each kind
		for _, other := range all {
			switch {
			case refuted == other.of && other.isUnsafe && q.value(other.entry).Cmp(q.value(d.entry)) <= 0:
				what := "the decision is proved, and refuted"
				if d.of == ofMean {
					what = "the means are proved to be in their box, and refuted"
				}
				list = append(list, Contradiction{true, q.words(d.safe), q.words(other.unsafe), fmt.Sprintf("%s: %s by %s: one of the two is wrong, please report it",
					q.where(d.safe, d.entry, family), what, q.where(other.unsafe, other.entry, family))})
				refuted = math.MinInt
			case d.of >= 0 && other.of > d.of && other.isSafe && another < 0:
				another = other.of
				list = append(list, Contradiction{true, q.words(d.safe), q.words(other.safe), fmt.Sprintf("%s: action %d is the only one that is taken, and action %d by %s: one of the two is wrong, please report it",
					q.where(d.safe, d.entry, family), d.of, other.of, q.where(other.safe, other.entry, family))})
			}
		}
	}
	return list
}

// meanEnds are the tightest bounds of the mean, the deviation and the total deviation of an output, at
// all points of T.
type meanEnds struct {
	lower, upper     [3]float64
	lowerAt, upperAt [3]place
	isLower, isUpper [3]bool
}

var meanWords = [3]string{"mean", "standard deviation", "standard deviation with the noise"}

// mean keeps bounds of means and deviations.
func (q *Questions) mean(i uint32, m *OutputMean, at place) {
	if q.means == nil {
		q.means = map[uint32][]meanEnds{}
	}
	for k, lower := range [3][]Down{m.Lower, m.SDLower, m.TotalSDLower} {
		for j, x := range lower {
			if e := q.meanOf(i, j); !e.isLower[k] || float64(x) > e.lower[k] {
				e.lower[k], e.lowerAt[k], e.isLower[k] = float64(x), at, true
			}
		}
	}
	for k, upper := range [3][]Up{m.Upper, m.SDUpper, m.TotalSDUpper} {
		for j, x := range upper {
			if e := q.meanOf(i, j); !e.isUpper[k] || float64(x) < e.upper[k] {
				e.upper[k], e.upperAt[k], e.isUpper[k] = float64(x), at, true
			}
		}
	}
}

// meanOf are the ends of output j.
func (q *Questions) meanOf(i uint32, j int) *meanEnds {
	for len(q.means[i]) <= j {
		q.means[i] = append(q.means[i], meanEnds{})
	}
	return &q.means[i][j]
}

// meansApart adds bounds of means and deviations that exclude each other. They hold at every point of
// their T, and of two radii the smaller T is in both.
func (q *Questions) meansApart(list []Contradiction, family []uint32) []Contradiction {
	outputs := 0
	for _, i := range family {
		outputs = max(outputs, len(q.means[i]))
	}
	for j := range outputs {
		for k, what := range meanWords {
			var all meanEnds
			var lower, upper uint32
			for _, i := range family {
				if j >= len(q.means[i]) {
					continue
				}
				e := &q.means[i][j]
				if e.isLower[k] && (!all.isLower[k] || e.lower[k] > all.lower[k]) {
					all.lower[k], all.lowerAt[k], all.isLower[k], lower = e.lower[k], e.lowerAt[k], true, i
				}
				if e.isUpper[k] && (!all.isUpper[k] || e.upper[k] < all.upper[k]) {
					all.upper[k], all.upperAt[k], all.isUpper[k], upper = e.upper[k], e.upperAt[k], true, i
				}
			}
			if all.isLower[k] && all.isUpper[k] && all.lower[k] > all.upper[k] {
				list = append(list, Contradiction{true, q.words(all.lowerAt[k]), q.words(all.upperAt[k]), fmt.Sprintf("%s: the %s of output %d is at least %v, and at most %v by %s: one of the two is wrong, please report it",
					q.where(all.lowerAt[k], lower, family), what, j, Down(all.lower[k]).Exact(), Up(all.upper[k]).Exact(), q.where(all.upperAt[k], upper, family))})
			}
		}
	}
	return list
}
