package fallback

import (
	"fmt"

	"psafe/host/bound"
)

// GatherSum is defined in bound.GatherSum.
func (d *Device[T]) GatherSum(a bound.GatherSum) error {
	t := gatherSum[T]{a: a, d: d}
	t.out, t.in = d.data(a.Out, a.P*a.J*a.R, "GatherSum.Out"), d.data(a.In, a.P*a.N*a.R, "GatherSum.In")
	t.start, t.entry = d.places(a.Start, a.J+1, 0, a.E+1, "GatherSum.Start"), d.places(a.Entry, a.E, 0, a.N, "GatherSum.Entry")
	for j := range a.J {
		if t.start[j] > t.start[j+1] {
			panic(fmt.Sprintf("fallback: GatherSum.Start: list %d is from %d to %d", j, t.start[j], t.start[j+1]))
		}
	}
	if a.Select != nil {
		t.slot, t.selected = d.data(a.Slot, a.E, "GatherSum.Slot"), d.data(a.Select, a.P*a.N, "GatherSum.Select")
	}
	d.parallel(a.P*a.J, 1+1024/max(a.R, 1), func(from, to int) {
		sums := make([]T, 2*sumTile)
		for i := from; i < to; i++ {
			for r := 0; r < a.R; r += sumTile {
				n := min(sumTile, a.R-r)
				t.place(i/a.J, i%a.J, r, sums[:n], sums[sumTile:][:n])
			}
		}
	})
	return nil
}

// sumTile is how many rows are summed at a time: sums stay in the nearest cache.
const sumTile = 1024

type gatherSum[T bound.Real] struct {
	a              bound.GatherSum
	d              *Device[T]
	out, in        []T
	start, entry   []int32
	slot, selected []T
}

// place computes place j of item p in the rows from r on that there are sums for.
func (t *gatherSum[T]) place(p, j, r int, total, block []T) {
	clear(total)
	for e0, end := int(t.start[j]), int(t.start[j+1]); e0 < end; e0 += bound.Block {
		clear(block)
		for e := e0; e < min(e0+bound.Block, end); e++ {
			at := p*t.a.N + int(t.entry[e])
			if t.slot == nil || t.selected[at] == t.slot[e] {
				t.add(block, t.in[at*t.a.R+r:])
			}
		}
		t.add(total, block)
	}
	out := t.out[(p*t.a.J+j)*t.a.R+r:][:len(total)]
	if t.a.Add {
		t.add(out, total)
	} else {
		copy(out, total)
	}
	if t.a.Down {
		for r, x := range out {
			out[r] = t.d.lower(x)
		}
	}
}

// add adds numbers to as many sums.
func (t *gatherSum[T]) add(sums, numbers []T) {
	numbers = numbers[:len(sums)]
	if t.a.Down {
		for r, x := range numbers {
			sums[r] = t.d.down(sums[r] + x)
		}
		return
	}
	for r, x := range numbers {
		sums[r] += x
	}
}
