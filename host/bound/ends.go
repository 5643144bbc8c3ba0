package bound

import "math"

// Bounds of the units of a layer of a graph by rows: of upper ends first, then of lower ones, or where
// that is too few rows for vectors of both together. A unit
// of max(t, 0) whose pre-activation is never positive gives 0, whatever else is known of it, so that
// its rows are left out (docs/theory.md, section 4.7).

// whichEnds says whether rows are some units, for lower ends, the same negated, for upper ends, or
// both, one after the other.
type whichEnds int

const (
	lowerEnds whichEnds = iota
	upperEnds
	bothEnds
)

// endRows are rows of n units of each item.
type endRows struct {
	ends whichEnds
	n    int
	// unit are their numbers in the layer, or in what a window sees of it, [Items x n], and place
	// those among the units of all images, -1 where an item has fewer units.
	unit, place []int
}

// tightenEnds bounds the units of layer k at one of their ends by rows in a form.
func (p *pass) tightenEnds(k int, f form, ends whichEnds) {
	l, items := &p.layers[k], p.query.Batch.Items
	needed := p.unsettled(k)
	var flown []endRows
	var bounds []Array
	down := func(first []int, width, most int) (of []Array) {
		for _, u := range cutEnds(ends, needed, first, width, most) {
			flown, of = append(flown, u), append(of, p.descend(k, p.unitRows(k, &u), &u, f))
		}
		bounds = append(bounds, of...)
		return of
	}
	if v := l.view; v != nil {
		for i := range v.sights {
			s := &v.sights[i]
			p.through(v, s, func() []Array { return down(s.firsts(items, l.out, v.perStart), v.perStart, v.part) })
		}
	} else {
		down((&sight{n: 1}).firsts(items, l.out, l.out), l.out, l.chunk)
	}
	all, err := p.readEach(bounds...)
	if err != nil || len(all) == 0 {
		return
	}
	p.release(bounds...)
	bound := p.holding(whereTheyBelong(flown, all, items, l.out))
	p.launch(Intersect{Pre: p.hidden[k].pre, Bound: bound, P: items, N: l.out})
	p.release(bound)
}

// unsettled says of which units of layer k more has to be known, [Items x units]; after an error of
// none. Units that may be off what the pass says of them may be above 0 all the same. In a part of a box
// (Splits.Within) units that are never negative hand on what they get, and their intervals, those of the
// whole box at least, have to do.
func (p *pass) unsettled(k int) []bool {
	l := &p.layers[k]
	_, off := p.off[k]
	needed := make([]bool, p.query.Batch.Items*l.out)
	hi, err := p.read(p.hidden[k].pre.Hi)
	for i := range hi {
		needed[i] = err == nil && !(l.settles && !off && hi[i] <= 0)
	}
	if p.outer != nil && l.settles {
		lo, err := p.read(p.hidden[k].pre.Lo)
		for i := range needed {
			needed[i] = needed[i] && err == nil && lo[i] < 0
		}
	}
	return needed
}

// firsts are, for each image and start, the number of its first unit among those of all images.
func (s *sight) firsts(images, out, perStart int) (first []int) {
	for i := range images {
		for start := s.at; start < s.at+s.n; start++ {
			first = append(first, i*out+start*perStart)
		}
	}
	return first
}

// wholeVectors is how many rows fill vectors of every device, and halfVectors those of half the width.
const wholeVectors, halfVectors = 16, 8

// cutEnds cuts what is needed of width units of each item, from first on, into runs of at most most, as
// even as they get: a few rows that are left over take longer than a vector. All are as many as vectors
// hold, as fewer take as long, and arrays of a few sizes are used again.
func cutEnds(ends whichEnds, needed []bool, first []int, width, most int) (runs []endRows) {
	lists, longest := make([][]int, len(first)), 0
	for i, at := range first {
		for place := at; place < at+width; place++ {
			if needed[place] {
				lists[i] = append(lists[i], place)
			}
		}
		longest = max(longest, len(lists[i]))
	}
	for at, left := 0, (longest+most-1)/most; at < longest; left-- {
		u := endRows{ends: ends, n: (longest - at + left - 1) / left}
		vectors := wholeVectors
		if u.n <= halfVectors {
			vectors = halfVectors
		}
		u.n = min(most, (u.n+vectors-1)/vectors*vectors)
		for _, list := range lists {
			for r := at; r < at+u.n; r++ {
				unit, place := 0, -1
				if r < len(list) {
					unit, place = list[r]%width, list[r]
				}
				u.unit, u.place = append(u.unit, unit), append(u.place, place)
			}
		}
		runs = append(runs, u)
		at += u.n
	}
	return runs
}

// whereTheyBelong are bounds of runs as Intersect takes them, [Items x 2 units]: -Inf of what is in none.
func whereTheyBelong(runs []endRows, bounds [][]float64, items, out int) []float64 {
	all := make([]float64, items*2*out)
	for i := range all {
		all[i] = math.Inf(-1)
	}
	for i, u := range runs {
		for at, place := range u.place {
			if place < 0 {
				continue
			}
			to := place/out*2*out + place%out
			switch u.ends {
			case bothEnds: // the same negated come after all of an item
				lower := at/u.n*2*u.n + at%u.n
				all[to], all[to+out] = bounds[i][lower], bounds[i][lower+u.n]
			case upperEnds:
				all[to+out] = bounds[i][at]
			default:
				all[to] = bounds[i][at]
			}
		}
	}
	return all
}
