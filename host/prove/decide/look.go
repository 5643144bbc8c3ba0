package decide

import (
	"context"
	"math"
	"slices"
	"sync"

	"psafe/host/bound"
	"psafe/host/model/network"
	"psafe/internal/fault"
)

// looks hold what is made of the bounds of a batch of cells: rows that suit each of them, and hints
// for those that stay open.
type looks struct {
	d     *decision
	items []*question
	// seen is nil where nothing but bounds is wanted.
	seen   *rangesSeen
	chosen []refined

	lo      [][]float64
	margins []float64
	hints   []hint
	rounded []bool
}

// repeated reports whether an item is the same as the one before it, which fills a run.
func (l *looks) repeated(p int) bool { return p > 0 && l.items[p] == l.items[p-1] }

// refine is Job.Refine.
func (l *looks) refine(m *bound.Margins) *bound.Refinement {
	l.each(func(p int, pass *network.Pass) {
		q, lo := l.items[p], m.Lo(p)[:len(l.items[p].rows)]
		if q.clauses != nil && !q.of.Holds(lo) {
			l.chosen[p] = refineApprox(pass, l.d.e.Normal.Network(), q.box, q.of, q.clauses, lo, l.seen.of(p))
		}
	})
	r := 0
	more := &bound.Refinement{}
	for p := range l.chosen {
		r = max(r, len(l.chosen[p].rows))
		more.Rows = append(more.Rows, l.chosen[p].rows)
	}
	if r == 0 {
		return nil
	}
	precision, net := l.d.e.Device.Precision(), l.d.e.Normal.Network()
	for k := range net[:len(net)-1] {
		n := net[k].Outputs()
		slopes := make([]float64, len(l.items)*n*r)
		for p := range l.chosen {
			for c, by := range l.chosen[p].slopes {
				for i, slope := range by[k] {
					slopes[(p*n+i)*r+c] = precision.Nearest(slope)
				}
			}
		}
		more.Slope = append(more.Slope, slopes)
	}
	return more
}

// end takes the bounds and finds hints.
func (l *looks) end(m *bound.Margins) {
	items := len(l.items)
	l.margins, l.hints, l.rounded = make([]float64, items), make([]hint, items), make([]bool, items)
	for p, q := range l.items {
		l.lo = append(l.lo, m.Lo(p)[:len(q.rows)])
		if q.of != nil {
			l.margins[p] = max(q.of.MarginLo(l.lo[p]), l.refinedMargin(p, m))
			l.rounded[p] = !(l.margins[p] >= 0) && len(l.chosen[p].rows) > 0 && slices.Min(l.chosen[p].approx) > 0
		}
	}
	if l.seen == nil {
		return
	}
	l.each(func(p int, pass *network.Pass) {
		if q := l.items[p]; q.of != nil && !(l.margins[p] >= 0) {
			l.hints[p] = hintApprox(pass, l.d.e.Normal.Network(), q.box, q.of, l.lo[p], l.seen.of(p))
		}
	})
	for p := range l.items {
		if l.repeated(p) {
			l.hints[p] = l.hints[p-1]
		}
	}
}

// refinedMargin is the least over the clauses of the greatest of what is proved of each: of its rows,
// and of the row that was chosen for it. S holds where every clause does.
func (l *looks) refinedMargin(p int, m *bound.Margins) float64 {
	of, q := &l.chosen[p], l.items[p]
	if len(of.rows) == 0 || m.Refined == nil {
		return math.Inf(-1)
	}
	r := len(m.Refined) / len(l.items)
	margin := math.Inf(1)
	next := 0
	for c, clause := range q.clauses {
		best := clauseLo(clause, l.lo[p])
		if next < len(of.clauses) && of.clauses[next] == c {
			if v := m.Refined[p*r+next]; v > best {
				best = v
			}
			next++
		}
		margin = min(margin, best)
	}
	return margin
}

// each calls f for all items that are not repeated, on all cores; repeated ones have what those
// before them have.
func (l *looks) each(f func(p int, pass *network.Pass)) {
	var room sync.Pool
	one := len(l.d.nets) == 1
	_ = fault.OnCores(context.Background(), len(l.items), func(p int) {
		if l.repeated(p) {
			return
		}
		var pass *network.Pass
		if one {
			pass, _ = room.Get().(*network.Pass)
		}
		if pass == nil {
			pass = l.d.e.Normal.Network().NewPass(l.d.nets[l.items[p].net])
		}
		f(p, pass)
		if one {
			room.Put(pass)
		}
	})
	for p := range l.items {
		if l.repeated(p) {
			l.chosen[p] = l.chosen[p-1]
		}
	}
}
