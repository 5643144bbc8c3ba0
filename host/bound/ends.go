package bound

import (
	"math"
	"slices"
)

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
	// eitherEnd: of each unit one, as endRows.upper says.
	eitherEnd
)

// endRows are rows of n units of each item.
type endRows struct {
	ends whichEnds
	n    int
	// unit are their numbers in the layer, or in what a window sees of it, [Items x n], and place
	// those among the units of all images, -1 where an item has fewer units.
	unit, place []int
	// upper says for the units of all images whether it is the upper end, of eitherEnd.
	upper []bool
}

// shallow is the form of rows that bound all units before tightenSigns: their intervals are those that the
// layers above begin with, and would soon tell no sign.
var shallow = form{most: 1}

// isDeep reports whether rows of layer k go further than those of the form shallow.
func (m *Model) isDeep(k int) bool {
	return !slices.Equal(m.metBy(k, shallow), m.met(k))
}

// tightenSigns bounds the units of layer k of which it is open whether they are above 0: at the end that
// seems nearer to 0, and where that has not told, at the other.
func (p *pass) tightenSigns(k int, f form) {
	open, upper := p.openSigns(k, nil)
	p.tightenUnits(k, f, eitherEnd, open, upper)
	open, upper = p.openSigns(k, upper)
	p.tightenUnits(k, f, eitherEnd, open, upper)
}

// openSigns says which units of layer k may be above 0 and below it, and whether it is the upper end that
// is to be bounded: another one than before, if that is not nil. After an error there are none.
func (p *pass) openSigns(k int, before []bool) (open, upper []bool) {
	n := p.query.Batch.Items * p.layers[k].out
	open, upper = make([]bool, n), make([]bool, n)
	lo, hi, err := p.readPair(p.hidden[k].pre.Lo, p.hidden[k].pre.Hi)
	for i := range lo {
		open[i] = err == nil && !(lo[i] >= 0 || hi[i] <= 0)
		if upper[i] = -lo[i] > hi[i]; before != nil {
			upper[i] = !before[i]
		}
	}
	return open, upper
}

// tightenEnds bounds the units of layer k at both of their ends by rows in a form.
func (p *pass) tightenEnds(k int, f form) {
	if v := p.layers[k].view; v != nil && v.both {
		p.tightenUnits(k, f, bothEnds, p.unsettled(k), nil)
		return
	}
	p.tightenUnits(k, f, upperEnds, p.unsettled(k), nil)
	p.tightenUnits(k, f, lowerEnds, p.unsettled(k), nil)
}

// tightenUnits bounds those units that are needed at one of their ends, or both.
func (p *pass) tightenUnits(k int, f form, ends whichEnds, needed, upper []bool) {
	l, items := &p.layers[k], p.query.Batch.Items
	var flown []endRows
	var bounds []Array
	down := func(first []int, width, most int) (of []Array) {
		for _, u := range cutEnds(ends, needed, first, width, most) {
			u.upper = upper
			flown, of = append(flown, u), append(of, p.descend(k, p.unitRows(k, &u), &u, f))
		}
		bounds = append(bounds, of...)
		return of
	}
	if v := l.view; v != nil {
		sights := v.sights
		if ends == eitherEnd {
			sights = p.sightsOf(v, needed)
		}
		for i := range sights {
			s := &sights[i]
			p.through(v, s, func() []Array { return down(s.firsts(items, l.out, v.perStart), v.perStart, v.part) })
			if s.chosen != nil {
				for _, seen := range s.seen {
					p.release(seen.at)
				}
			}
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
// none. Units that may be off what the pass says of them may be above 0 all the same.
func (p *pass) unsettled(k int) []bool {
	l := &p.layers[k]
	_, off := p.off[k]
	needed := make([]bool, p.query.Batch.Items*l.out)
	hi, err := p.read(p.hidden[k].pre.Hi)
	for i := range hi {
		needed[i] = err == nil && !(l.settles && !off && hi[i] <= 0)
	}
	return needed
}

// firsts are, for each image and start, the number of its first unit among those of all images.
func (s *sight) firsts(images, out, perStart int) (first []int) {
	for i := range images {
		for j := range s.n {
			first = append(first, i*out+s.start(j)*perStart)
		}
	}
	return first
}

// wholeVectors is how many rows fill vectors of every device.
const wholeVectors = 16

// cutEnds cuts what is needed of width units of each item, from first on, into runs of at most most.
// More than a vector are as many as vectors hold: fewer take as long, and arrays of a few sizes are used
// again.
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
	for at := 0; at < longest; at += most {
		u := endRows{ends: ends, n: min(most, longest-at)}
		if ends == eitherEnd {
			u.n = min(most, max(u.n, wholeVectors/2))
		}
		if u.n > wholeVectors {
			u.n = min(most, (u.n+wholeVectors-1)/wholeVectors*wholeVectors)
		}
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
			case eitherEnd:
				if u.upper[place] {
					to += out
				}
				all[to] = bounds[i][at]
			default:
				all[to] = bounds[i][at]
			}
		}
	}
	return all
}
