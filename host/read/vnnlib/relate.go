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
// c_i x_i is at least -offset less the greatest values of the others. Those are of the ends of bounds
// that the relation does not cut.
func (q *parser) cutBy(r *atom, all []*bounds) (cut bool, err error) {
	total, greatest, open, unbounded := r.Offset, make([]*big.Rat, len(r.Terms)), 0, -1
	strictly := func(i int) bool {
		of := all[r.Terms[i].Of]
		return of.hiStrict && r.Terms[i].Coef.Sign() > 0 || of.loStrict && r.Terms[i].Coef.Sign() < 0
	}
	for i, t := range r.Terms {
		end := all[t.Of].hi
		if t.Coef.Sign() < 0 {
			end = all[t.Of].lo
		}
		if end == nil && unbounded >= 0 {
			return false, nil
		} else if end == nil {
			unbounded = i
			continue
		}
		if greatest[i], err = q.mul(t.Coef, end); err != nil {
			return false, err
		}
		if total, err = q.add(total, greatest[i]); err != nil {
			return false, err
		}
		if strictly(i) {
			open++
		}
	}
	for i, t := range r.Terms {
		rest, others := total, open
		if greatest[i] != nil {
			if unbounded >= 0 {
				continue
			}
			rest = new(big.Rat).Sub(total, greatest[i])
			if strictly(i) {
				others--
			}
		}
		end := new(big.Rat).Quo(new(big.Rat).Neg(rest), t.Coef)
		if err := q.spend(rest, t.Coef, end); err != nil {
			return false, err
		}
		before := *all[t.Of]
		all[t.Of].cut(end, t.Coef.Sign() > 0, r.Strict || others > 0, r.place)
		cut = cut || *all[t.Of] != before
	}
	return cut, nil
}
