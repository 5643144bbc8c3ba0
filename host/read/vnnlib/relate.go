package vnnlib

import "math/big"

// relate takes the relations that hold wherever an expression does.
func (q *parser) relate(e *expression) {
	for i := range e.atoms {
		if e.atoms[i].relation() {
			q.relations = append(q.relations, &e.atoms[i])
		}
	}
	for _, k := range e.kids {
		if !e.or {
			q.relate(k)
		}
	}
}

// mostPasses is how often relations cut bounds: what they say may go on for ever.
const mostPasses = 16

// relatedBox is box where relations cut bounds: what they say of an input, given bounds of the others,
// is a bound of it. No point of the box that fulfils them is lost.
func (q *parser) relatedBox(own map[int]*bounds, at place) ([]Interval, error) {
	box, all := make([]Interval, q.query.Inputs()), make([]*bounds, q.query.Inputs())
	for i := range all {
		if all[i] = q.common.bounds[i].both(own[i]); all[i] == nil {
			all[i] = &bounds{}
		} else {
			all[i] = all[i].both(nil) // a copy
		}
	}
	for cut, pass := true, 0; cut && pass < mostPasses; pass++ {
		cut = false
		for _, r := range q.relations {
			more, err := q.cutBy(r, all)
			if err != nil {
				return nil, r.errorf("%w", err)
			}
			cut = cut || more
		}
	}
	for i := range box {
		var err error
		if box[i], err = q.interval(i, all[i], at); err != nil {
			return nil, err
		}
	}
	return box, nil
}

// cutBy cuts the bounds of each input of a relation by what it says: of offset + sum of c_j x_j >= 0,
// c_i x_i is at least -offset less the greatest values of the others.
func (q *parser) cutBy(r *atom, all []*bounds) (cut bool, err error) {
	for i, t := range r.Terms {
		rest, strict, known := r.Offset, r.Strict, true
		for j, other := range r.Terms {
			if j == i {
				continue
			}
			end, open := all[other.Of].hi, all[other.Of].hiStrict
			if other.Coef.Sign() < 0 {
				end, open = all[other.Of].lo, all[other.Of].loStrict
			}
			if known = end != nil; !known {
				break
			}
			part, err := q.mul(other.Coef, end)
			if err != nil {
				return false, err
			}
			if rest, err = q.add(rest, part); err != nil {
				return false, err
			}
			strict = strict || open
		}
		if !known {
			continue
		}
		end := new(big.Rat).Quo(new(big.Rat).Neg(rest), t.Coef)
		if err := q.spend(rest, t.Coef, end); err != nil {
			return false, err
		}
		before := *all[t.Of]
		all[t.Of].cut(end, t.Coef.Sign() > 0, strict, r.place)
		cut = cut || *all[t.Of] != before
	}
	return cut, nil
}
