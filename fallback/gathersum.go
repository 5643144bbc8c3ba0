package fallback

import (
	"fmt"

	"psafe/host/bound"
)

// GatherSum is defined in bound.GatherSum.
func (d *Device[T]) GatherSum(a bound.GatherSum) error {
	t := gatherSum[T]{a: a, d: d}
	t.out, t.in = d.data(a.Out), d.data(a.In)
	t.sumLists = d.sumLists(a.Start, a.Entry, a.J, a.E, a.N, "GatherSum")
	if a.Select != nil {
		t.slot, t.selected = d.data(a.Slot), d.data(a.Select)
	}
	return d.parallel(a.P*a.J, 1+1024/max(a.R, 1), func(from, to int) {
		s := sumScratch[T]{total: make([]T, min(sumTile, a.R)), block: make([]T, min(sumTile, a.R))}
		for i := from; i < to; i++ {
			t.list(i/a.J, i%a.J, &s)
			out := t.out[i*a.R : (i+1)*a.R]
			for r := gatherSumLanes(&t, out, &s); r < a.R; r += sumTile {
				t.rows(out[r:min(r+sumTile, a.R)], r, &s)
			}
		}
	})
}

// sumTile is the number of rows summed at a time: sums stay in the nearest cache.
const sumTile = 1024

type gatherSum[T bound.Real] struct {
	a       bound.GatherSum
	d       *Device[T]
	out, in []T
	sumLists
	slot, selected []T
}

// sumLists are those of what is summed at each place.
type sumLists struct{ start, entry []int32 }

// sumLists returns the lists of j places, of e entries below n in all.
func (d *Device[T]) sumLists(start, entry bound.Array, j, e, n int, what string) sumLists {
	l := sumLists{d.places(start, 0, e+1, what+".Start"), d.places(entry, 0, n, what+".Entry")}
	for j := range j {
		if l.start[j] > l.start[j+1] {
			panic(fmt.Sprintf("fallback: %s.Start: list %d is from %d to %d", what, j, l.start[j], l.start[j+1]))
		}
	}
	return l
}

// of is the list of place j.
func (l *sumLists) of(j int) []int32 { return l.entry[l.start[j]:l.start[j+1]] }

// sumScratch is the list of one place: where the rows of its entries start, but for those that
// are not selected; ends[k] is where block k stops. Total and block are sums of rows.
type sumScratch[T bound.Real] struct {
	at, ends     []int
	total, block []T
}

// list makes the list of place j of item p.
func (t *gatherSum[T]) list(p, j int, s *sumScratch[T]) {
	s.at, s.ends = s.at[:0], s.ends[:0]
	for e0, end := int(t.start[j]), int(t.start[j+1]); e0 < end; e0 += bound.Block {
		for e := e0; e < min(e0+bound.Block, end); e++ {
			at := p*t.a.N + int(t.entry[e])
			if t.slot == nil || t.selected[at] == t.slot[e] {
				s.at = append(s.at, at*t.a.R)
			}
		}
		s.ends = append(s.ends, len(s.at))
	}
}

// rows sums rows r, r+1, ... of a list into out.
func (t *gatherSum[T]) rows(out []T, r int, s *sumScratch[T]) {
	total, block := s.total[:len(out)], s.block[:len(out)]
	clear(total)
	k := 0
	for _, end := range s.ends {
		clear(block)
		for ; k < end; k++ {
			add(block, t.in[s.at[k]+r:])
		}
		add(total, block)
	}
	if t.a.Add {
		add(out, total)
	} else {
		copy(out, total)
	}
}

// add adds numbers to as many sums.
func add[T bound.Real](sums, numbers []T) {
	numbers = numbers[:len(sums)]
	for r, x := range numbers {
		sums[r] += x
	}
}
