package record

import "fmt"

// decidedAt are records that say of a question that the predictive's class is proved, and one that it
// is refuted.
type decidedAt struct {
	safe, unsafe     place
	isSafe, isUnsafe bool
}

// decide keeps where a decision is proved, and where another class is proved to win at a point of T.
func (q *Questions) decide(i uint32, r *Decision, at place) {
	safe, unsafe := float64(r.Gap) > 0, r.RivalGap != nil && float64(*r.RivalGap) > 0
	if !safe && !unsafe {
		return
	}
	if q.decided == nil {
		q.decided = map[uint32]*decidedAt{}
	}
	d := q.decided[i]
	if d == nil {
		d = &decidedAt{}
		q.decided[i] = d
	}
	if safe && !d.isSafe {
		d.safe, d.isSafe = at, true
	}
	if unsafe && !d.isUnsafe {
		d.unsafe, d.isUnsafe = at, true
	}
}

// decisions adds the decisions that are proved at a radius where, or at a smaller one, the contrary is.
func (q *Questions) decisions(list []Contradiction, family []uint32) []Contradiction {
	var refuted *decidedAt
	var by uint32
	for _, i := range family {
		d := q.decided[i]
		if d == nil {
			continue
		}
		if refuted == nil && d.isUnsafe {
			refuted, by = d, i
		}
		if refuted != nil && d.isSafe {
			list = append(list, Contradiction{true, q.words(d.safe), q.words(refuted.unsafe), fmt.Sprintf("%s: the decision is proved, and refuted by %s: one of the two is wrong, please report it",
				q.where(d.safe, i, family), q.where(refuted.unsafe, by, family))})
		}
	}
	return list
}
